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

/** The host itself, then wildcards over it: a manifest cannot spell every name that exists, such as one with an underscore. */
function hostPatterns(host: string): string[] {
  const labels = host.split('.');
  return [host, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)];
}

/** The path as a pattern that stands for it alone; one that is too long is cut at a segment and left open there. */
function pathPattern(path: string): string {
  const literal = path.replaceAll('*', '%2A');
  if (literal.length <= maxPattern) return literal;
  const room = literal.slice(0, maxPattern - '**'.length);
  return `${room.slice(0, room.lastIndexOf('/') + 1)}**`;
}
