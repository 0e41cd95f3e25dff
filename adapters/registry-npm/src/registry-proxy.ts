import type { NpmConfig } from './npm-config.ts';

/**
 * The proxy through which a URL is reached; undefined: none.
 *
 * `NO_PROXY` is a list, between commas or blanks, of hosts with an optional port. One counts for its sub-domains as well, with
 * a dot or `*.` before it for those alone; `*` counts for all.
 */
export function proxyFor(url: URL, { HTTP_PROXY, HTTPS_PROXY, NO_PROXY }: NpmConfig['proxy']): string | undefined {
  const proxy = url.protocol === 'https:' ? HTTPS_PROXY : HTTP_PROXY;
  if (proxy === undefined) return undefined;
  const exceptions = (NO_PROXY ?? '').toLowerCase().split(/[\s,]+/);
  return exceptions.some((exception) => isOf(url, exception)) ? undefined : withScheme(proxy);
}

function isOf(url: URL, exception: string): boolean {
  if (exception === '') return false;
  if (exception === '*') return true;
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(exception) ?? [];
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const name = url.hostname.toLowerCase();
  const suffix = host.replace(/^\*/, '');
  return suffix.startsWith('.') ? name.endsWith(suffix) : name === suffix || name.endsWith(`.${suffix}`);
}

/** `proxy.test:3128` is how many write it. */
const withScheme = (proxy: string): string => (/^[a-z]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`);
