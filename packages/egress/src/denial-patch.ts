import { httpRuleSchema, type Json } from '@glovebox/contract';
import type { Request } from './api.ts';

/** Characters of a path in a manifest. */
const maxPattern = 1024;

/**
 * The narrowest rule that allows a request, as `{ rules: [rule] }`: for capabilities.http, beside the rules that are there.
 *
 * @returns null where no manifest can have one: for a method that it cannot name, or a host of a single label.
 */
export function patchFor({ target, method, websocket }: Request): Json | null {
  if (websocket && method !== 'GET') return null;
  for (const host of hostPatterns(target.host)) {
    const rule = {
      scheme: target.scheme,
      host,
      port: target.port,
      methods: [method],
      paths: [pathPattern(target.path)],
      ...(websocket ? { websocket } : {}),
    };
    if (httpRuleSchema.safeParse(rule).success) return { rules: [rule] };
  }
  return null;
}

/** As in the name of a host in a manifest. */
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The host itself, then the narrowest wildcard over it: a manifest cannot spell every name that exists, such as one with an
 * underscore. Two at most: a schema is slow to say no, and who asks for a host of a hundred labels is refused two thousand times a second.
 */
function hostPatterns(host: string): string[] {
  const labels = host.split('.');
  const parent = labels.slice(labels.findLastIndex((each, at) => at === 0 || !label.test(each)) + 1);
  return [host, `*.${parent.join('.')}`];
}

/** The path as a pattern that stands for it alone; one that is too long is cut at a segment and left open there. */
function pathPattern(path: string): string {
  const literal = path.replaceAll('*', '%2A');
  if (literal.length <= maxPattern) return literal;
  const room = literal.slice(0, maxPattern - '**'.length);
  return `${room.slice(0, room.lastIndexOf('/') + 1)}**`;
}
