import { cassetteFileLimits, type GatheredBytes, GloveboxError } from '@glovebox/contract';
import { type CassetteEntry, cassetteLimits, keptBody } from '@glovebox/sdk/cassette';

/** Bytes of a request's body; of a longer one its digest alone is kept, which is all that is compared. */
const maxRequestBody = 16 * 1024;

/** Why no cassette can come of what was recorded. */
export type RecordingFault = 'too-large' | 'too-many' | 'url-too-long' | 'websocket';

const faultTexts: { readonly [fault in RecordingFault]: string } = {
  'too-large': `the answers are over the ${cassetteFileLimits.maxBytes / 1024 / 1024} MiB of a cassette`,
  'too-many': `there were more than the ${cassetteLimits.entries} requests of a cassette`,
  'url-too-long': `a URL is over the ${cassetteLimits.url} characters of a cassette`,
  websocket: 'a WebSocket was opened, which no cassette holds',
};

/** A place in the order of requests, filled once its answer is known; until then it is no entry. */
export interface Slot {
  entry: CassetteEntry | undefined;
}

/**
 * Requests with their answers, in the order in which they were made. Bounded: over a limit everything is dropped at once,
 * and nothing comes of the recording.
 */
export class Recording {
  #slots: Slot[] = [];
  #bytes = 0;
  #fault: RecordingFault | undefined;

  /** @returns undefined when nothing more is kept. */
  open(): Slot | undefined {
    if (this.#fault !== undefined) return undefined;
    if (this.#slots.length >= cassetteLimits.entries) {
      this.fail('too-many');
      return undefined;
    }
    const slot: Slot = { entry: undefined };
    this.#slots.push(slot);
    return slot;
  }

  /** Count bytes that would be kept. @returns whether they still may be. */
  hold(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#bytes > cassetteFileLimits.maxBytes) this.fail('too-large');
    return this.#fault === undefined;
  }

  /** Give back what was held and is not to be kept. */
  drop(held: GatheredBytes): void {
    this.#bytes -= held.length;
    held.clear();
  }

  fail(fault: RecordingFault): void {
    this.#fault ??= fault;
    this.#slots = [];
  }

  get failed(): boolean {
    return this.#fault !== undefined;
  }

  /**
   * The recording as the text of a cassette: members in one order, headers by name, two blanks a level, so that two of them
   * can be compared line by line.
   *
   * @throws GloveboxError `CASSETTE_TOO_LARGE` when it was over a limit, or held what no cassette holds.
   */
  text(): string {
    if (this.#fault !== undefined) throw tooLarge(this.#fault);
    const entries = this.#slots.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));
    const text = `${JSON.stringify({ schema: 'glovebox.cassette/1', entries }, null, 2)}\n`;
    if (Buffer.byteLength(text) > cassetteFileLimits.maxBytes) throw tooLarge('too-large');
    return text;
  }
}

const tooLarge = (fault: RecordingFault): GloveboxError =>
  new GloveboxError('CASSETTE_TOO_LARGE', { message: `Nothing was recorded: ${faultTexts[fault]}.` });

/** The body of a request as it is kept: short, or its digest. */
export function keptRequestBody(
  whole: Uint8Array,
  digest: { digest: string; bytes: number } | undefined,
): CassetteEntry['request']['body'] {
  if (digest === undefined) return undefined;
  return digest.bytes > maxRequestBody ? digest : keptBody(whole);
}

/** Whether so much of a request's body is still kept. */
export const isShort = (bytes: number): boolean => bytes <= maxRequestBody;
