import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { type GuestLog, guestLogSchema, type LogRecord, parseJson } from '@glovebox/contract';

/** Longest line kept as one record; a longer one is cut into several, so a line without an end cannot grow. */
const maxLineBytes = 16 * 1024;
/** Longest JSON line on the log stream: a message of 64 KiB, escaped, and its fields. */
const maxGuestLineBytes = 512 * 1024;
/** What a cell may write to fds 1 and 2 past its limit before it is killed. */
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
 * At most `limitBytes` of messages are kept; then one record says so and the rest is counted and dropped. Raw output is
 * read on after that, so that a chatty node is slowed by nobody, up to 64 MiB: then it is a flood. The log stream may
 * burst to the limit (at least 1 MiB) and then carry 1 MiB/s; more is abuse, since the harness stops by itself.
 */
export class LogIntake {
  readonly #options: LogIntakeOptions;
  readonly #hash = createHash('sha256');
  #keptBytes = 0;
  #droppedBytes = 0;
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
    const flush = (text: string): void => {
      if (text !== '') this.#record({ source, level: source === 'stderr' ? 'warn' : 'info', message: text });
    };
    try {
      for await (const chunk of readable as AsyncIterable<Buffer>) {
        if (this.#truncated) {
          this.#drop(chunk.length);
          if (source === 'stderr') this.#tail = (this.#tail + chunk.toString('latin1')).slice(-4096);
          continue;
        }
        const text = decoder.write(chunk);
        if (source === 'stderr') this.#tail = (this.#tail + text).slice(-4096);
        line += text;
        for (let end = line.indexOf('\n'); end !== -1; end = line.indexOf('\n')) {
          flush(line.slice(0, end).replace(/\r$/, ''));
          line = line.slice(end + 1);
        }
        while (line.length > maxLineBytes) {
          flush(line.slice(0, maxLineBytes));
          line = line.slice(maxLineBytes);
        }
      }
    } catch {
      // The pipe broke: the cell is dying, and what came is kept.
    }
    flush(line + decoder.end());
  }

  /** Read the log stream of the harness. Settles when the stream ends or breaks. */
  async takeStream(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new StringDecoder('utf8');
    let line = '';
    try {
      for await (const chunk of body) {
        if (!this.#spend(chunk.length)) return this.#violate('CHANNEL_ABUSE', 'more than 1 MiB/s of log');
        line += decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        let start = 0;
        for (let end = line.indexOf('\n', start); end !== -1; end = line.indexOf('\n', start)) {
          if (!this.#guestLine(line.slice(start, end))) {
            return this.#violate('CHANNEL_CORRUPTED', 'a log line is not a log record');
          }
          start = end + 1;
        }
        line = line.slice(start);
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
    const bytes =
      Buffer.byteLength(log.message) + (log.fields === undefined ? 0 : Buffer.byteLength(JSON.stringify(log.fields)));
    if (this.#truncated) {
      this.#drop(bytes);
      return;
    }
    if (this.#keptBytes + bytes > this.#options.limitBytes) {
      this.#truncated = true;
      this.remark('warn', `log limit of ${this.#options.limitBytes} bytes reached; the rest is dropped`);
      this.#drop(bytes);
      return;
    }
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

  #drop(bytes: number): void {
    this.#droppedBytes += bytes;
    if (this.#droppedBytes > floodBytes) this.#violate('LOG_FLOOD', `${floodBytes} bytes past the log limit`);
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
