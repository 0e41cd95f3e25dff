export type Npmrc = Map<string, string[]>;

/**
 * Read an npmrc as npm does: lines `key = value`, `key[] = value` for lists, comments with `;` or `#`, quotes, and
 * backslashes before `;`, `#` and backslash. Sections and what is in them are passed over. Later lines win, but in lists.
 *
 * @param env for `${NAME}` in keys and values; a name that is not set stays as it is, `${NAME?}` then becomes empty.
 *   Left out, nothing is replaced.
 */
export function parseNpmrc(text: string, env?: Readonly<Record<string, string | undefined>>): Npmrc {
  const found: Npmrc = new Map();
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (line.startsWith('[')) break;
    if (line === '' || line.startsWith(';') || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    const key = expand(unquote(equals < 0 ? line : line.slice(0, equals)), env);
    const value = expand(equals < 0 ? 'true' : unquote(line.slice(equals + 1)), env);
    if (key.endsWith('[]')) found.set(key.slice(0, -2), [...(found.get(key.slice(0, -2)) ?? []), value]);
    else found.set(key, [value]);
  }
  return found;
}

function unquote(text: string): string {
  const value = text.trim();
  if (value.length > 1 && value.startsWith("'") && value.endsWith("'")) return value.slice(1, -1);
  if (value.length > 1 && value.startsWith('"') && value.endsWith('"')) {
    try {
      return String(JSON.parse(value));
    } catch {
      return value;
    }
  }
  const [plain = ''] = /^(?:\\[;#\\]|[^;#])*/.exec(value) ?? [];
  return plain.replace(/\\([;#\\])/g, '$1').trim();
}

function expand(text: string, env: Readonly<Record<string, string | undefined>> | undefined): string {
  if (env === undefined) return text;
  return text.replace(/(?<!\\)\$\{([^${}?]+)(\?)?\}/g, (whole, name: string, optional: string | undefined) => {
    return env[name] ?? (optional === undefined ? whole : '');
  });
}
