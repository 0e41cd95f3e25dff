/** A value that JSON can hold. Arrays and objects are plain, and there is no `undefined` in them. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * What a node does. Called once per attempt, in a process of its own that dies afterwards: nothing that it keeps in
 * variables or in `ctx.scratch` is there the next time.
 *
 * What it returns must match the `output` schema of node.json and hold nothing that JSON has not: BigInt, Date, Map, Set,
 * `undefined`, NaN, Infinity, functions, symbols, class instances and cycles are refused with their place
 * (`OUTPUT_NOT_JSON`), never changed silently. Whatever it throws fails the attempt; see NodeError.
 */
export type NodeHandler<Input, Config, Output> = (ctx: NodeContext<Input, Config>) => Output | Promise<Output>;

/**
 * Declares a node: `export default defineNode<Input, Config, Output>(async (ctx) => …)` in `src/index.ts`.
 *
 * @throws TypeError when the handler is no function.
 */
export declare function defineNode<Input = Json, Config = Json, Output = Json>(
  handler: NodeHandler<Input, Config, Output>,
): NodeHandler<Input, Config, Output>;

/** What a node gets. Everything else that it could reach is closed to it: files, network, processes, environment. */
export interface NodeContext<Input = Json, Config = Json> {
  /** Valid by the `input` schema of node.json. Frozen, all the way down. */
  readonly input: Input;
  /** Valid by the `config` schema of node.json. Frozen, all the way down. */
  readonly config: Config;
  readonly log: NodeLog;
  readonly clock: NodeClock;
  /**
   * Fires when the attempt is cancelled; its `reason` is a NodeError `CANCELLED`. Two seconds later the process is killed,
   * whatever it does. The deadline (`resources.timeout`) comes without a signal.
   */
  readonly signal: AbortSignal;
  /**
   * An empty directory for this attempt alone, of `capabilities.scratch.maxBytes` (1 MiB where none is declared). It is
   * memory; nothing in it can be executed. Writing past its size fails with `ENOSPC`: the attempt ends `SCRATCH_FULL`.
   */
  readonly scratch: string;
  readonly files: NodeFiles;
  /**
   * The fetch of Node.js, with two options more. Global `fetch`, `node:https` and npm packages that are made from them go the same
   * way; only what `capabilities.http` of node.json declares goes through, each redirect by itself.
   *
   * At most 32 requests are open at once; the others wait for their turn. Compressed answers arrive decoded. Certificates are checked outside: what a library says of them is not asked for.
   *
   * @throws NodeError `EGRESS_DENIED` (nothing was sent), `EGRESS_BUDGET`, `EGRESS_FAILED`, `EGRESS_TIMED_OUT`: its `details` have
   * `reason`, `hint` and, where node.json could allow it, `patch`. Other ways of asking find that error as the `cause` of theirs;
   * either way it names how the attempt failed where the handler lets it through. Else as fetch does; TypeError or RangeError when
   * an option has another type or is out of range.
   */
  fetch(input: string | URL | Request, init?: NodeRequestInit): Promise<Response>;
  readonly ids: NodeIds;
  /** The same for every attempt of one step of one run: give it to services that can tell a repetition by a key. */
  readonly idempotencyKey: string;
  /**
   * Tell how far the work is. Cheap: reports that follow fast on each other are merged, the last one always arrives.
   *
   * @param fraction 0 to 1. @param message at most 500 characters.
   * @throws TypeError when an argument has another type, RangeError when it is out of range.
   */
  progress(fraction: number, message?: string): void;
  progress(report: { fraction?: number; message?: string }): void;
}

/**
 * The log of the run. `message` is cut at 64 Ki characters; `fields` may hold anything and is turned into JSON of at most
 * 16 KiB, 6 levels deep: what JSON has not becomes text. What goes past `resources.logs` is dropped.
 *
 * `console` and `process.stdout` end in the same log.
 *
 * @throws TypeError when `message` is no string or `fields` no object.
 */
export interface NodeLog {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** Time by the host's clock. Tests put a fake one in its place, so prefer it to Date.now and setTimeout. */
export interface NodeClock {
  /** Milliseconds since the epoch. Never goes back within an attempt. */
  now(): number;
  /**
   * Resolves after `ms`; rejects with the signal's reason when the attempt is cancelled, or `options.signal` fires,
   * before that.
   *
   * @param ms 0 to 2,147,483,647.
   * @throws TypeError when an argument has another type, RangeError when `ms` is out of range.
   */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
}

/** What a file may be made of. Chunks of a stream are text (stored as UTF-8) or bytes. */
export type FileData = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

export interface StoredFile {
  /** `sha256:` and 64 hex digits, of the content. */
  digest: string;
  sizeBytes: number;
}

/** The files of the run: content that is kept beside the output, listed on the attempt. Needs `capabilities.files`. */
export interface NodeFiles {
  /**
   * Store a file, all of it or nothing. A stream (a web ReadableStream, a stream of Node.js, a generator) is read as fast
   * as the host takes it, and closed when storing fails.
   *
   * @param name 1 to 128 letters, digits, dots, underscores and hyphens, not beginning with a dot or a hyphen; each name once.
   * @param mediaType such as `text/csv` or `text/plain; charset=utf-8`; `application/octet-stream` where it is left out.
   * @throws NodeError `FILES_NOT_DECLARED`, `FILES_LIMIT`, `FILE_NAME_REFUSED`; TypeError when an argument has another type.
   */
  write(name: string, data: FileData, mediaType?: string): Promise<StoredFile>;
}

/** What `ctx.fetch` takes. */
export type NodeRequestInit = RequestInit & {
  /**
   * How often a request that is safe to repeat is tried again when the other side cannot be reached or is busy: 0 to 5. 0 where it is
   * left out.
   */
  retry?: number;
  /** Name of a slot of `capabilities.credentials`: its credential is put in outside. Not available yet: `EGRESS_DENIED`. */
  credential?: string;
};

/** Where this attempt belongs. All of them are safe to log. */
export interface NodeIds {
  readonly project: string;
  readonly node: string;
  readonly run: string;
  readonly attempt: string;
  readonly correlation: string;
}

export interface NodeErrorOptions {
  /** Whether another attempt may succeed. False where it is left out. */
  retryable?: boolean;
  /** How long to wait before another attempt: milliseconds, or text such as `"30s"` (`ms`, `s`, `m`); at most a day. */
  retryAfter?: number | string;
  /** Facts for programs: JSON, at most 16 KiB. */
  details?: Json;
  cause?: unknown;
}

/**
 * An error that a flow can act on. Anything else that a node throws fails the attempt as `NODE_FAILED`.
 *
 * @param code of your own, such as `ORDER_NOT_FOUND`: capital letters, digits and underscores, at most 100 characters.
 * @throws TypeError when the code, the message or an option is not as described.
 */
export declare class NodeError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  /** Undefined where none was given. */
  readonly retryAfterMs: number | undefined;
  readonly details: Json | undefined;
  constructor(code: string, message: string, options?: NodeErrorOptions);
  /** Whether `value` is a NodeError, of `code` where one is given; true also for one of another copy of this class. */
  static is(value: unknown, code?: string): value is NodeError;
}
