import type { Json, NodeContext, NodeHandler, NodeIds } from './api.ts';

/** As text where it is UTF-8. */
export type CassetteBody = { text: string } | { base64: string };

/** By lower-case names. `set-cookie` alone may have several values; a value `<not recorded>` is left out of an answer. */
export type CassetteHeaders = { [name: string]: string | string[] };

/** A request, and what came of it. Bodies are whole and decoded. */
export interface CassetteEntry {
  request: {
    method: string;
    /** As the URL parser writes it, without fragment; values of parameters that hold a secret by their names are `not-recorded`. */
    url: string;
    /** To be read, never compared. */
    headers?: CassetteHeaders;
    /** Its digest alone where it is long. */
    body?: CassetteBody | { digest: string; bytes: number };
  };
  response: { status: number; headers?: CassetteHeaders; body?: CassetteBody };
}

/** Requests with their answers, from `fixtures/<name>.cassette.json`. */
export interface Cassette {
  schema: 'glovebox.cassette/1';
  entries: CassetteEntry[];
}

export interface TestOptions<Input, Config> {
  /** Must be JSON, as in a run; the node gets a frozen copy. `{}` where it is left out. */
  input?: Input;
  config?: Config;
  /** What `ctx.clock.now()` begins with: milliseconds, or a date as text. 2026-01-01T00:00:00Z where it is left out. */
  now?: number | string;
  ids?: Partial<NodeIds>;
  idempotencyKey?: string;
  /** As in `capabilities.files`, in bytes. `none`: the node declares no files. At most 50 MiB in 10 files where it is left out. */
  files?: 'none' | { maxBytes?: number; maxCount?: number };
  /**
   * A cassette, as JSON.parse gives it: `ctx.fetch` is answered from it, and from nowhere else, by the rules of a fixture.
   * Nothing of node.json is applied. Where it is left out, every request is a miss. `runNode` answers the global `fetch` of the
   * node from it too.
   */
  http?: object;
  /** As `resources.output`, in bytes. 256 KiB where it is left out. */
  outputBytes?: number;
}

export interface TestLog {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields?: Json;
}

export interface TestFile {
  name: string;
  mediaType: string;
  content: Uint8Array;
  /** The content as UTF-8. */
  text: string;
  digest: string;
  sizeBytes: number;
}

export interface TestProgress {
  fraction?: number;
  message?: string;
}

/** What `ctx.fetch` was asked for, each redirect by itself. */
export interface TestRequest {
  method: string;
  url: string;
  /** Undefined where the cassette has no such request. */
  status: number | undefined;
}

/** What a node did beside its output, in order. */
export interface TestTrace {
  readonly logs: TestLog[];
  readonly files: TestFile[];
  readonly progress: TestProgress[];
  readonly requests: TestRequest[];
}

/**
 * A time of its own, which only moves when somebody moves it. `ctx.clock.sleep(ms)` moves it by `ms` and resolves soon: a
 * test never waits.
 */
export interface TestClock {
  now(): number;
  advance(ms: number): void;
}

export interface TestContext<Input, Config> extends TestTrace {
  readonly ctx: NodeContext<Input, Config>;
  readonly clock: TestClock;
  /** Cancel the attempt: fires `ctx.signal`, as a run does. Nothing is killed. */
  cancel(reason?: string): void;
}

/** How a run would have ended. `error.code` is `NODE_FAILED` for what is no NodeError; `thrown` is the thing itself. */
export type TestResult<Output> = TestTrace &
  (
    | { readonly ok: true; readonly output: Output; readonly outputText: string }
    | {
        readonly ok: false;
        readonly error: {
          code: string;
          message: string;
          /** `OUTPUT_NOT_JSON` only: JSON Pointer to what JSON has not. */
          place?: string;
          retryable: boolean;
          retryAfterMs?: number;
          details?: Json;
        };
        readonly thrown: unknown;
      }
  );

/**
 * The context of a node without a cell, for calling a handler, or a part of it, by hand: same checks of arguments, same
 * frozen input. No network, no wall: it tests a node, it does not contain one.
 *
 * @throws TypeError when an option is not as described, input or config is no JSON, or `http` is no cassette.
 */
export declare function createTestContext<Input = Json, Config = Json>(
  options?: TestOptions<Input, Config>,
): TestContext<Input, Config>;

/**
 * Call a node once, and judge what it gives as a run does: an output that JSON cannot hold is an error, with its place.
 * The schemas of node.json are not checked here; a run checks them.
 *
 * @throws TypeError when `node` is no function or an option is not as described. What the node throws is in the result.
 */
export declare function runNode<Input, Config, Output>(
  node: NodeHandler<Input, Config, Output>,
  options?: TestOptions<Input, Config>,
): Promise<TestResult<Output>>;
