import { errorCatalogue, type Finding } from '@glovebox/contract';
import { type Miss, missText } from '@glovebox/egress/cassette';
import type { NamedCassette } from './fixture-cassettes.ts';
import { atFixture, type NamedFixture } from './fixture-files.ts';

/** A node can ask for anything, as often as its manifest lets it. */
const maxTold = 10;

/** Requests of a fixture that its cassette has not: whatever the node made of it, it was tried on nothing. */
export function missFindings({ name, file, cassette }: NamedFixture, misses: readonly Miss[]): Finding[] {
  const [path, hint] =
    cassette === undefined
      ? ['', 'Name a cassette in http; glovebox node run --record makes one.']
      : ['/http', errorCatalogue.CASSETTE_MISS.hint];
  return misses
    .slice(0, maxTold)
    .map((miss) => atFixture('CASSETTE_MISS', file, path, `${name}: ${missText(miss)}`, hint));
}

/**
 * Entries of cassettes that no fixture asked for: what is recorded there is proof of nothing.
 *
 * @param unused by cassette, the entries that each fixture with it left unused.
 */
export function unusedFindings(unused: ReadonlyMap<NamedCassette, readonly number[][]>): Finding[] {
  return [...unused].flatMap(([{ file, cassette }, lists]) => {
    const [first = [], ...others] = lists.map((list) => new Set(list));
    const never = [...first].filter((entry) => others.every((list) => list.has(entry)));
    if (never.length === 0) return [];
    const told = never.slice(0, maxTold).map((entry) => {
      const { method = '', url = '' } = cassette.entries[entry]?.request ?? {};
      return `${entry} (${method} ${url.slice(0, 120)})`;
    });
    const more = never.length > maxTold ? ` and ${never.length - maxTold} more` : '';
    const message = `${file}: no fixture asks for ${told.join(', ')}${more}`;
    const place = { file, path: `/entries/${never[0]}` };
    return [
      { rule: 'CASSETTE_UNUSED', severity: 'warning', message, hint: errorCatalogue.CASSETTE_UNUSED.hint, place },
    ];
  });
}
