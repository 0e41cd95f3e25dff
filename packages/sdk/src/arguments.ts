import { asyncIterator, execPattern, isInteger, iterator, PlainTypeError, typedArrayName } from './primordials.ts';

/**
 * Checks of what a node passes to its context, the same in a cell and in tests. Only what is documented is taken: an
 * object where a string was meant (a URL, a String wrapper, an array) would otherwise be turned into text by a method of
 * its own, after the checks.
 */

const PlainRangeError = RangeError;
export const fileNamePattern: RegExp = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
export const mediaTypePattern: RegExp =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}(; ?[a-z0-9-]{1,32}=[A-Za-z0-9._-]{1,64}){0,4}$/;
export const defaultMediaType = 'application/octet-stream';
const maxSleepMs = 2_147_483_647;
const maxProgressMessage = 500;

function kindOf(value: unknown): string {
  return value === null
    ? 'null'
    : typeof value === 'object' || typeof value === 'function'
      ? `an ${'object'}`
      : `a ${typeof value}`;
}

function wrongType(what: string, wanted: string, value: unknown): TypeError {
  return new PlainTypeError(`${what} must be ${wanted}, got ${value === undefined ? 'undefined' : kindOf(value)}`);
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export function checkLog(level: LogLevel, message: unknown, fields: unknown): asserts message is string {
  if (typeof message !== 'string') throw wrongType(`ctx.log.${level}: message`, 'a string', message);
  if (fields !== undefined && (typeof fields !== 'object' || fields === null)) {
    throw wrongType(`ctx.log.${level}: fields`, 'an object', fields);
  }
}

export function checkSleep(ms: unknown): asserts ms is number {
  if (typeof ms !== 'number') throw wrongType('ctx.clock.sleep: ms', 'a number', ms);
  if (!(ms >= 0 && ms <= maxSleepMs))
    throw new PlainRangeError(`ctx.clock.sleep: ms must be from 0 to ${maxSleepMs}, got ${ms}`);
}

/** `progress(fraction, message?)` or `progress({ fraction?, message? })` with at least one; each property is read once. */
export function readProgress(first: unknown, second: unknown): { fraction?: number; message?: string } {
  let fraction = first;
  let message = second;
  if (typeof first === 'object' && first !== null) {
    if (second !== undefined) throw new PlainTypeError('ctx.progress: one object, or a fraction and a message');
    ({ fraction, message } = first as { fraction?: unknown; message?: unknown });
    // A Number object, an array or a Date would else pass as a report without anything in it.
    if (fraction === undefined && message === undefined)
      throw new PlainTypeError('ctx.progress: an object with a fraction, a message or both');
  } else if (typeof first !== 'number') throw wrongType('ctx.progress: fraction', 'a number', first);
  if (fraction !== undefined) {
    if (typeof fraction !== 'number') throw wrongType('ctx.progress: fraction', 'a number', fraction);
    if (!(fraction >= 0 && fraction <= 1))
      throw new PlainRangeError(`ctx.progress: fraction must be from 0 to 1, got ${fraction}`);
  }
  if (message !== undefined) {
    if (typeof message !== 'string') throw wrongType('ctx.progress: message', 'a string', message);
    if (message.length > maxProgressMessage)
      throw new PlainRangeError(`ctx.progress: message is longer than ${maxProgressMessage} characters`);
  }
  const report: { fraction?: number; message?: string } = {};
  if (fraction !== undefined) report.fraction = fraction;
  if (message !== undefined) report.message = message;
  return report;
}

/** @returns why the name or media type is refused (`FILE_NAME_REFUSED`); undefined when both are fine. Throws a TypeError for other types. */
export function fileRefusal(name: unknown, mediaType: unknown): string | undefined {
  if (typeof name !== 'string') throw wrongType('ctx.files.write: name', 'a string', name);
  if (typeof mediaType !== 'string') throw wrongType('ctx.files.write: mediaType', 'a string', mediaType);
  if (!execPattern(fileNamePattern, name)) {
    return 'ctx.files.write: name must be 1 to 128 letters, digits, dots, underscores and hyphens, not beginning with a dot or a hyphen';
  }
  if (!execPattern(mediaTypePattern, mediaType))
    return 'ctx.files.write: mediaType must be such as "text/plain; charset=utf-8"';
  return undefined;
}

export type FileSource =
  | { kind: 'chunk'; chunk: string | Uint8Array }
  | { kind: 'sync'; iterator: Iterator<unknown> }
  | { kind: 'async'; iterator: AsyncIterator<unknown> };

/** How to read the data of a file: as one chunk, or chunk by chunk. */
export function fileSource(data: unknown): FileSource {
  if (isChunk(data)) return { kind: 'chunk', chunk: data };
  if (typeof data === 'object' && data !== null) {
    const open = (data as Partial<AsyncIterable<unknown>>)[asyncIterator];
    if (typeof open === 'function')
      return { kind: 'async', iterator: (data as AsyncIterable<unknown>)[asyncIterator]() };
    const openSync = (data as Partial<Iterable<unknown>>)[iterator];
    // A typed array of other numbers, or an array of numbers, would be read item by item and then refused: say it at once.
    if (typeof openSync === 'function' && typedArrayName(data) === undefined) {
      return { kind: 'sync', iterator: (data as Iterable<unknown>)[iterator]() };
    }
  }
  throw wrongType('ctx.files.write: data', 'a string, a Uint8Array or a stream of them', data);
}

export function isChunk(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || typedArrayName(value) === 'Uint8Array';
}

export function wrongChunk(value: unknown): TypeError {
  return wrongType('ctx.files.write: a chunk', 'a string or a Uint8Array', value);
}

const slotPattern = /^[a-z][a-zA-Z0-9_-]{0,63}$/;
const maxRetries = 5;

/** What `ctx.fetch` takes beyond fetch itself; each member is read once. @throws TypeError, RangeError. */
export function checkFetch(init: unknown): { retry?: number; credential?: string } {
  if (init === undefined || init === null) return {};
  if (typeof init !== 'object') throw wrongType('ctx.fetch: init', 'an object', init);
  const { retry, credential } = init as { retry?: unknown; credential?: unknown };
  if (retry !== undefined) {
    if (typeof retry !== 'number') throw wrongType('ctx.fetch: retry', 'a number', retry);
    if (!isInteger(retry) || retry < 0 || retry > maxRetries)
      throw new PlainRangeError(`ctx.fetch: retry must be a whole number from 0 to ${maxRetries}, got ${retry}`);
  }
  if (credential !== undefined) {
    if (typeof credential !== 'string') throw wrongType('ctx.fetch: credential', 'a string', credential);
    if (!execPattern(slotPattern, credential))
      throw new PlainTypeError('ctx.fetch: credential must be the name of a slot');
  }
  const checked: { retry?: number; credential?: string } = {};
  if (retry !== undefined) checked.retry = retry;
  if (credential !== undefined) checked.credential = credential;
  return checked;
}
