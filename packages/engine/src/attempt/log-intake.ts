import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type GuestLog, guestLogSchema, type LogRecord, logRecordBytes, parseJson } from '@glovebox/contract';

/** Longest line kept as one record; a longer one is cut into several, so a line without an end cannot grow. */
const maxLineBytes = 16 * 1024;
/** Longest JSON line on the log stream: a message of 64 KiB, escaped, and its fields. */
const maxGuestLineBytes = 512 * 1024;
/** Records kept of one attempt, however short: each is a row in the store. */
const maxRecords = 200_000;
/** What a cell may write, to fds 1 and 2 and to a log stream that is full, past its limit before it is killed. */
const floodBytes = 64 * 1024 * 1024;
/** Refill of the log stream's budget. */
const streamBytesPerSecond = 1024 * 1024;
const minStreamBurstBytes = 1024 * 1024;
/** Room for the escapes of JSON: six bytes may stand for one. */
const streamBurstFactor = 8;

export interface LogIntakeOptions {
  limitBytes: number;
  now: () => number;
  /** Called with records in order of arrival. Must not throw. */
  onRecord: (record: LogRecord) => void;
  /** The cell broke a limit and must die. Called at most once. */
  onViolation: (violation: { code: 'LOG_FLOOD' | 'CHANNEL_ABUSE' | 'CHANNEL_CORRUPTED'; detail: string }) => void;
}

/**
 * Takes in everything that a cell says: the structured log stream, and the raw bytes of fds 1 and 2.
 *
 * At most `limitBytes` of messages are kept, of which each counts for `logRecordBytes` at least, and at most 200,000 of
 * them; then one record says so and the rest is counted and dropped, unread. Raw output is read on after that, so that a chatty node is slowed by nobody,
 * up to 64 MiB past the limit: then it is a flood, whatever it says. The log stream may burst to the limit (at least 1 MiB)
 * and then carry 1 MiB/s; more is abuse, since the harness stops by itself.
 */
export class LogIntake {
  readonly #options: LogIntakeOptions;
  readonly #hash = createHash('sha256');
  #keptBytes = 0;
  /** What counts towards the limit. */
  #countedBytes = 0;
  #records = 0;
  /** What counts towards a flood. */
  #takenBytes = 0;
  #truncated = false;
  #violated = false;
  #streamBudget: number;
  #streamBudgetAt: number;
  #tail = '';

  constructor(options: LogIntakeOptions) {
    this.#options = options;
    this.#streamBudget = Math.max(minStreamBurstBytes, options.limitBytes) * streamBurstFactor;
    this.#streamBudgetAt = options.now();
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** The last 4 KiB of raw stderr, for telling why a process died. */
  get stderrTail(): string {
    return this.#tail;
  }

  /** sha256 over the kept records, one line of JSON each; see `logLine`. */
  digest(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }

  /** Read fd 1 or 2 to its end. Settles when the cell's end is closed. */
  async takeRaw(source: 'stdout' | 'stderr', readable: Readable): Promise<void> {
    const decoder = new StringDecoder('utf8');
    let line = '';
    const record = (text: string): void => {
      for (let at = 0; at < text.length; at += maxLineBytes) {
        const message = text.slice(at, at + maxLineBytes);
        this.#record({ source, level: source === 'stderr' ? 'warn' : 'info', message });
      }
    };
    try {
      for await (const chunk of readable as AsyncIterable<Buffer>) {
        // Lines without a character are no records, but they are read all the same.
        this.#take(chunk.length);
        if (this.#truncated) {
          if (source === 'stderr') this.#tail = (this.#tail + chunk.toString('latin1')).slice(-4096);
        } else {
          const text = decoder.write(chunk);
          if (source === 'stderr') this.#tail = (this.#tail + text).slice(-4096);
          let start = 0;
          for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
            if (end > start || line !== '') record((line + text.slice(start, end)).replace(/\r$/, ''));
            line = '';
            start = end + 1;
          }
          line += text.slice(start);
          const whole = line.length - (line.length % maxLineBytes);
          record(line.slice(0, whole));
          line = line.slice(whole);
        }
        // A pipe is refilled as fast as it is read: without this, megabytes of short lines would be one turn's work.
        await nextTurn();
      }
    } catch {
      // The pipe broke: the cell is dying, and what came is kept.
    }
    record(line + decoder.end());
  }

  /** Read the log stream of the harness. Settles when the stream ends or breaks. */
  async takeStream(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new StringDecoder('utf8');
    let line = '';
    try {
      for await (const chunk of body) {
        if (!this.#spend(chunk.length)) return this.#violate('CHANNEL_ABUSE', 'more than 1 MiB/s of log');
        if (this.#truncated) {
          this.#take(chunk.length);
          continue;
        }
        const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        let start = 0;
        // Only what is new is searched: a line that comes byte by byte would be searched as often as it is long.
        for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
          if (!this.#guestLine(line + text.slice(start, end))) {
            return this.#violate('CHANNEL_CORRUPTED', 'a log line is not a log record');
          }
          line = '';
          start = end + 1;
        }
        line += text.slice(start);
        if (line.length > maxGuestLineBytes) return this.#violate('CHANNEL_ABUSE', 'a log line is too long');
      }
    } catch {
      // Reset or lost with the cell.
    }
  }

  /** A remark of the host itself; kept even past the limit. */
  remark(level: LogRecord['level'], message: string): void {
    this.#keep({ atMs: this.#options.now(), source: 'host', level, message });
  }

  #guestLine(text: string): boolean {
    const parsed = parseJson(text, { maxBytes: maxGuestLineBytes, maxDepth: 32 });
    if (!parsed.ok) return false;
    const record = guestLogSchema.safeParse(parsed.value);
    if (!record.success) return false;
    this.#record(record.data);
    return true;
  }

  #spend(bytes: number): boolean {
    const now = this.#options.now();
    const cap = Math.max(minStreamBurstBytes, this.#options.limitBytes) * streamBurstFactor;
    const refill = (Math.max(0, now - this.#streamBudgetAt) / 1000) * streamBytesPerSecond;
    this.#streamBudget = Math.min(cap, this.#streamBudget + refill) - bytes;
    this.#streamBudgetAt = now;
    return this.#streamBudget >= 0;
  }

  #record(log: GuestLog): void {
    if (this.#truncated) return;
    const bytes =
      Buffer.byteLength(log.message) + (log.fields === undefined ? 0 : Buffer.byteLength(JSON.stringify(log.fields)));
    const counted = Math.max(bytes, logRecordBytes);
    const { limitBytes } = this.#options;
    const isFull = this.#countedBytes + counted > limitBytes;
    if (isFull || this.#records === maxRecords) {
      this.#truncated = true;
      const limit = isFull ? `${limitBytes} bytes` : `${maxRecords} records`;
      this.remark('warn', `log limit of ${limit} reached; the rest is dropped`);
      return;
    }
    this.#records++;
    this.#countedBytes += counted;
    this.#keptBytes += bytes;
    this.#keep({
      atMs: this.#options.now(),
      source: log.source,
      level: log.level,
      // A store may turn half a surrogate pair into something else, and the receipt would not fit the record.
      message: log.message.toWellFormed(),
      ...(log.fields === undefined ? {} : { fields: log.fields }),
    });
  }

  #keep(record: LogRecord): void {
    this.#hash.update(logLine(record));
    this.#options.onRecord(record);
  }

  #take(bytes: number): void {
    this.#takenBytes += bytes;
    if (this.#takenBytes > this.#options.limitBytes + floodBytes)
      this.#violate('LOG_FLOOD', `${floodBytes} bytes past the log limit`);
  }

  #violate(code: 'LOG_FLOOD' | 'CHANNEL_ABUSE' | 'CHANNEL_CORRUPTED', detail: string): void {
    if (this.#violated) return;
    this.#violated = true;
    this.#options.onViolation({ code, detail });
  }
}

/** One record as it is hashed: JSON with keys in this order, and a line feed. */
export function logLine(record: LogRecord): string {
  const { atMs, source, level, message, fields } = record;
  return `${JSON.stringify({ atMs, source, level, message, ...(fields === undefined ? {} : { fields }) })}\n`;
}

/** Digest of records that were stored, for comparison with a receipt. */
export function logDigest(records: Iterable<LogRecord>): string {
  const hash = createHash('sha256');
  for (const record of records) hash.update(logLine(record));
  return `sha256:${hash.digest('hex')}`;
}
