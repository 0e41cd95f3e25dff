import { type Asked, askedBy } from './cassette-match.ts';
import type { Cassette, CassetteEntry } from './testing-api.ts';

/** A part of a request in which two differ. */
export type Difference = 'origin' | 'path' | 'method' | 'query' | 'body';

/** JSON, so that it goes into the details of an error as it is. */
export type Miss = {
  method: string;
  /** At most 300 characters. */
  url: string;
  /** The recorded request that is most like it; null where nothing is recorded, and for what comes after the 20th miss. */
  nearest: { entry: number; method: string; url: string; differs: Difference[] } | null;
};

export type Taken = { kind: 'entry'; entry: CassetteEntry } | { kind: 'miss'; miss: Miss };

/** Searching costs a look at every entry, and it is a node that asks. */
const maxSearches = 20;
/** Of misses that are kept. */
const maxMisses = 100;
const maxShown = 300;

/**
 * Answers requests from a cassette. Same method, URL and body are the same request; headers are not compared. Entries of the
 * same request are used in their order, and the last of them again and again.
 */
export class CassettePlayer {
  readonly #entries: readonly CassetteEntry[];
  readonly #asked: readonly Asked[];
  readonly #queues = new Map<string, number[]>();
  readonly #used = new Set<number>();
  #parts: readonly Parts[] | undefined;
  #searches = 0;
  readonly misses: Miss[] = [];

  constructor({ entries }: Cassette) {
    this.#entries = entries;
    this.#asked = entries.map(askedBy);
    for (const [index, asked] of this.#asked.entries()) {
      const queue = this.#queues.get(keyOf(asked));
      if (queue === undefined) this.#queues.set(keyOf(asked), [index]);
      else queue.push(index);
    }
  }

  take(asked: Asked): Taken {
    const queue = this.#queues.get(keyOf(asked));
    if (queue === undefined) return { kind: 'miss', miss: this.miss(asked) };
    const index = (queue.length > 1 ? queue.shift() : queue[0]) as number;
    this.#used.add(index);
    return { kind: 'entry', entry: this.#entries[index] as CassetteEntry };
  }

  /** Entries that nothing asked for, by their places. */
  unused(): number[] {
    return [...this.#entries.keys()].filter((index) => !this.#used.has(index));
  }

  /** Count a request that no entry can answer. */
  miss(asked: Asked): Miss {
    const { method, url } = asked;
    const nearest = this.#searches++ < maxSearches ? this.#nearest(asked) : null;
    const miss: Miss = { method, url: url.slice(0, maxShown), nearest };
    if (this.misses.length < maxMisses) this.misses.push(miss);
    return miss;
  }

  #nearest(asked: Asked): Miss['nearest'] {
    this.#parts ??= this.#asked.map(partsOf);
    const wanted = partsOf(asked);
    let best: { entry: number; distance: number } | undefined;
    for (const [entry, parts] of this.#parts.entries()) {
      const distance = distanceOf(wanted, parts);
      if (best === undefined || distance < best.distance) best = { entry, distance };
    }
    if (best === undefined) return null;
    const { method, url } = this.#asked[best.entry] as Asked;
    const differs = differences(wanted, this.#parts[best.entry] as Parts);
    return { entry: best.entry, method, url: url.slice(0, maxShown), differs };
  }
}

/** A miss in one sentence. */
export function missText({ method, url, nearest }: Miss): string {
  const asked = `${method} ${url} is not in the cassette`;
  if (nearest === null) return asked;
  return `${asked}; nearest is entry ${nearest.entry}, ${nearest.method} ${nearest.url}, which differs in ${nearest.differs.join(', ')}`;
}

// No URL that is parsed has a blank in it.
const keyOf = ({ method, url, body }: Asked): string => `${method} ${url} ${body ?? ''}`;

interface Parts {
  method: string;
  origin: string;
  segments: string[];
  query: string;
  body: string | undefined;
}

function partsOf({ method, url, body }: Asked): Parts {
  const { origin, pathname, search } = new URL(url);
  return { method, origin, segments: pathname.split('/'), query: search, body };
}

function differences(a: Parts, b: Parts): Difference[] {
  const found: Difference[] = [];
  if (a.origin !== b.origin) found.push('origin');
  if (segmentsApart(a, b) > 0) found.push('path');
  if (a.method !== b.method) found.push('method');
  if (a.query !== b.query) found.push('query');
  if (a.body !== b.body) found.push('body');
  return found;
}

/** A difference in what stands further left in a URL outweighs all that is right of it. */
function distanceOf(a: Parts, b: Parts): number {
  const unlike = differences(a, b);
  const weight = (part: Difference, value: number): number => (unlike.includes(part) ? value : 0);
  return (
    weight('origin', 1e6) + 10 * segmentsApart(a, b) + weight('method', 4) + weight('query', 2) + weight('body', 1)
  );
}

function segmentsApart({ segments: a }: Parts, { segments: b }: Parts): number {
  let apart = Math.abs(a.length - b.length);
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) apart++;
  return apart;
}
