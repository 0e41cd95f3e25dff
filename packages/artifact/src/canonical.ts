import type { Json } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import canonicalize from 'canonicalize';

/**
 * The canonical JSON text of a value (RFC 8785): equal values have equal texts, whatever order their keys were set in.
 *
 * Only plain JSON is taken. What `JSON.stringify` would drop or turn into something else (undefined, functions, dates,
 * maps, NaN, big integers, holes, half a surrogate pair) would make the text stand for another value than it was given.
 *
 * @throws GloveboxError `INTERNAL` with the JSON Pointer of what is not JSON.
 */
export function canonicalJson(value: unknown): string {
  refuseOthers(value, '', new Set());
  return canonicalize(value) as string;
}

function refuseOthers(value: unknown, path: string, ancestors: Set<object>): void {
  if (typeof value !== 'object' || value === null) {
    const reason = whyNotScalar(value);
    if (reason !== undefined) refuse(path, reason);
    return;
  }
  if (ancestors.has(value)) refuse(path, 'a cycle');
  ancestors.add(value);
  if (Array.isArray(value)) {
    // Not forEach, which skips holes.
    for (let i = 0; i < value.length; i++) refuseOthers(value[i], `${path}/${i}`, ancestors);
  } else {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype) refuse(path, 'an object of a class');
    if (Object.getOwnPropertySymbols(value).length > 0) refuse(path, 'an object with a symbol as key');
    for (const key of Object.keys(value)) {
      if (!key.isWellFormed()) refuse(path, 'a key with half a surrogate pair');
      refuseOthers(
        (value as Record<string, unknown>)[key],
        `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        ancestors,
      );
    }
  }
  ancestors.delete(value);
}

function whyNotScalar(value: unknown): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value);
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'a string with half a surrogate pair';
  return typeof value;
}

function refuse(path: string, what: string): never {
  throw new GloveboxError('INTERNAL', { message: `not JSON at "${path}": ${what}`, place: { path } });
}

/** The same value with U+FFFD for each half of a surrogate pair, in keys too: no UTF-8 can carry those. */
export function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]));
}
