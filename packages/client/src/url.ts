import { GloveboxError } from '@glovebox/contract/errors';

/** Path and query of a call. Parameters are encoded whole: none of them can become two parts of a path. @throws GloveboxError `REQUEST_INVALID`. */
export function urlOf(
  path: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name];
    // Dots alone would be taken for a step in the path, encoded or not.
    if (value === undefined || /^\.{0,2}$/.test(value)) {
      throw new GloveboxError('REQUEST_INVALID', {
        message: `"${value ?? ''}" cannot be the ${name} of ${path}.`,
        place: { path: `/${name}` },
      });
    }
    return encodeURIComponent(value);
  });
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
}
