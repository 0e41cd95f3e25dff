import { NodeError } from '@glovebox/sdk';

const origin = 'https://api.github.com';

/**
 * Where the next page is, by the `Link` header of an answer (RFC 8288).
 *
 * @param from the URL that was asked for; a link may be relative to it.
 * @returns undefined where there is none.
 * @throws NodeError `LINK_ELSEWHERE`: an answer must not choose whom this node speaks to. node.json would not let it either.
 */
export function nextLink(header: string | null, from: string): string | undefined {
  for (const link of (header ?? '').split(/,\s*(?=<)/)) {
    const [, target = '', parameters = ''] = /^\s*<([^>]*)>(.*)$/.exec(link) ?? [];
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? [];
    const relations = (quoted ?? bare ?? '').toLowerCase().split(/\s+/);
    if (!relations.includes('next')) continue;
    const url = URL.canParse(target, from) ? new URL(target, from) : undefined;
    if (url?.origin === origin) return url.href;
    throw new NodeError('LINK_ELSEWHERE', `the next page would be at ${url?.origin ?? 'no URL'}, not at ${origin}`);
  }
  return undefined;
}
