const typescriptFile = /\.(?:[cm]?ts|tsx)$/i;
const declarationFile = /\.d\.(?:[cm]?ts|[^./]+\.ts)$/i;

/**
 * The tsconfig.json for the files of one package. It names each TypeScript file: the type checker, when it looks for itself,
 * leaves out names that begin with a dot and some directories, and takes no part in what JavaScript imports.
 *
 * Declarations of the toolchain come first, since the first of two that contradict each other counts. Those of the author
 * are checked as well, where there are any; for that the type checker must look at all, and tell of those of packages too.
 *
 * @param authorPaths relative to `tree`.
 */
export function typeCheckConfigOf(
  authorPaths: readonly string[],
  { tree, base, first }: { tree: string; base: string; first: readonly string[] },
): string {
  const own = authorPaths.filter((path) => typescriptFile.test(path));
  return JSON.stringify({
    extends: base,
    ...(own.some((path) => declarationFile.test(path))
      ? { compilerOptions: { skipLibCheck: false, skipDefaultLibCheck: true } }
      : {}),
    files: [...first, ...own.map((path) => `${tree}/${path}`)],
  });
}
