import { errorCatalogue, type Finding, type Place } from '@glovebox/contract';
import { type Miss, missText } from '@glovebox/egress/cassette';
import type { NamedCassette } from './fixture-cassettes.ts';

/** A node can ask for anything, as often as its manifest lets it. */
const maxTold = 10;

/** Requests that a cassette has not: whatever the node made of it, it was tried on nothing. */
export function missFindings(name: string, place: Place, misses: readonly Miss[]): Finding[] {
  return misses.slice(0, maxTold).map((miss) => ({
    rule: 'CASSETTE_MISS',
    severity: 'error',
    message: `${name}: ${missText(miss)}`,
    hint: errorCatalogue.CASSETTE_MISS.hint,
    place,
  }));
}

/**
 * Entries of cassettes that nobody asked for: what is recorded there is proof of nothing.
 *
 * @param unused by cassette, the entries that each fixture with it left unused. @param asker all fixtures of the package, or one run
 * alone, beside which others may ask for what is left.
 */
export function unusedFindings(
  unused: ReadonlyMap<NamedCassette, readonly number[][]>,
  asker: 'all-fixtures' | 'one-run',
): Finding[] {
  return [...unused].flatMap(([{ file, cassette }, lists]) => {
    const [first = [], ...others] = lists.map((list) => new Set(list));
    const never = [...first].filter((entry) => others.every((list) => list.has(entry)));
    if (never.length === 0) return [];
    const told = never.slice(0, maxTold).map((entry) => {
      const { method = '', url = '' } = cassette.entries[entry]?.request ?? {};
      return `${entry} (${method} ${url.slice(0, 120)})`;
    });
    const more = never.length > maxTold ? ` and ${never.length - maxTold} more` : '';
    const nobody = asker === 'all-fixtures' ? 'no fixture asks for' : 'this run did not ask for';
    const message = `${file}: ${nobody} ${told.join(', ')}${more}`;
    const place = { file, path: `/entries/${never[0]}` };
    return [
      { rule: 'CASSETTE_UNUSED', severity: 'warning', message, hint: errorCatalogue.CASSETTE_UNUSED.hint, place },
    ];
  });
}
