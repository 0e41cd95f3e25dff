import { createHash } from 'node:crypto';
import type { Target } from './api.ts';
import { parseTarget } from './target.ts';

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** URLs that are remembered; the oldest goes first. What is forgotten costs a node that follows it one of its requests, no hop. */
const maxRemembered = 1024;

/**
 * Where answers pointed to, and after how many hops. A node's client follows redirects by itself, so the next request to such a
 * URL is taken for the next hop. It is a budget for clients that go astray, no wall: each hop is decided on like any request.
 */
export class RedirectTrail {
  readonly #maxRedirects: number;
  /** By digest: a URL may have 16 KiB. */
  readonly #hops = new Map<string, { hops: number; pending: number }>();

  constructor(maxRedirects: number) {
    this.#maxRedirects = maxRedirects;
  }

  /** @returns hops that led to this request, 0 for one that follows none; `too-many` stays so when it is asked again. */
  follow(target: Target): number | 'too-many' {
    const key = keyOf(target);
    const known = this.#hops.get(key);
    if (known === undefined) return 0;
    if (known.hops > this.#maxRedirects) return 'too-many';
    if (--known.pending === 0) this.#hops.delete(key);
    return known.hops;
  }

  /** Take note of an answer. @param hops those that led to the request that it answers. */
  note(from: Target, hops: number, status: number, location: string | undefined): void {
    if (location === undefined || !redirectStatuses.has(status)) return;
    const to = resolve(from, location);
    if (to === undefined) return;
    const key = keyOf(to);
    const known = this.#hops.get(key);
    this.#hops.delete(key);
    this.#hops.set(key, { hops: Math.max(hops + 1, known?.hops ?? 0), pending: (known?.pending ?? 0) + 1 });
    const oldest = this.#hops.keys().next();
    if (this.#hops.size > maxRemembered && !oldest.done) this.#hops.delete(oldest.value);
  }
}

const urlOf = ({ scheme, authority, path, query }: Target): string => `${scheme}://${authority}${path}${query}`;
const keyOf = (target: Target): string => createHash('sha256').update(urlOf(target)).digest('base64');

/** Undefined where it leads to nothing that could be asked for. */
function resolve(from: Target, location: string): Target | undefined {
  const url = URL.parse(location, urlOf(from));
  if (url === null) return undefined;
  url.hash = '';
  const parsed = parseTarget(url.href);
  return parsed.kind === 'target' ? parsed.target : undefined;
}
