/**
 * A name that a package of the registry may have, with its scope: URL-safe, at most 214 characters. Old ones use upper case,
 * and begin with an underscore. Whatever it fits stays one component of a path, or two with a scope.
 */
export const registryName =
  /^(?=.{1,214}$)(?:@[a-z0-9_~-][a-z0-9._~-]*\/)?(?!(?:node_modules|favicon\.ico)$)[a-z0-9_~-][a-z0-9._~-]*$/i;
