import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json, NodeContext, StoredFile } from './api.ts';
import {
  checkLog,
  checkSleep,
  defaultMediaType,
  type FileSource,
  fileRefusal,
  fileSource,
  isChunk,
  type LogLevel,
  readProgress,
  wrongChunk,
} from './arguments.ts';
import { cassetteFetch, fetchFailureIn } from './cassette-fetch.ts';
import { withGlobalFetch } from './cassette-global.ts';
import { freezeJson } from './freeze-json.ts';
import { encodeJson } from './json-output.ts';
import { encodeForLog } from './log-fields.ts';
import { NodeError } from './node-error.ts';
import type {
  createTestContext as PublicCreateTestContext,
  runNode as PublicRunNode,
  TestClock,
  TestFile,
  TestOptions,
  TestTrace,
} from './testing-api.ts';

export type * from './testing-api.ts';

const defaultNow = '2026-01-01T00:00:00Z';
const maxInputBytes = 64 * 1024 * 1024;
const defaultOutputBytes = 256 * 1024;
const defaultFiles = { maxBytes: 50 * 1024 * 1024, maxCount: 10 };

export const createTestContext: typeof PublicCreateTestContext = <Input, Config>(
  options: TestOptions<Input, Config> = {},
) => {
  const clock = createClock(options.now ?? defaultNow);
  const controller = new AbortController();
  const trace: TestTrace = { logs: [], files: [], progress: [], requests: [] };
  const unavailable = (what: string) => (): never => {
    throw new NodeError('NOT_AVAILABLE_YET', `${what} is not available yet`);
  };
  const later = (what: string) => async (): Promise<never> => unavailable(what)();
  let scratch: string | undefined;
  const context: NodeContext<Input, Config> & { credentials: unknown } = {
    input: frozenCopy('input', options.input ?? {}) as Input,
    config: frozenCopy('config', options.config ?? {}) as Config,
    log: createLog(trace),
    clock: Object.freeze({ now: clock.now, sleep: sleeper(clock, controller.signal) }),
    signal: controller.signal,
    get scratch() {
      scratch ??= makeScratch();
      return scratch;
    },
    files: createFiles(trace, options.files ?? {}),
    ids: Object.freeze({
      project: 'default',
      node: 'node-under-test',
      run: 'run_00000000000000000000test',
      attempt: 'att_00000000000000000000test',
      correlation: 'run_00000000000000000000test',
      ...options.ids,
    }),
    idempotencyKey: options.idempotencyKey ?? 'test',
    progress: (first: unknown, second?: unknown) => {
      trace.progress.push(readProgress(first, second));
    },
    fetch: cassetteFetch(options.http, trace.requests),
    credentials: Object.freeze({
      has: unavailable('ctx.credentials.has'),
      reveal: later('ctx.credentials.reveal'),
    }),
  };
  const cancel = (reason = 'cancelled by the test'): void => controller.abort(new NodeError('CANCELLED', reason));
  return { ...trace, ctx: Object.freeze(context), clock, cancel };
};

export const runNode: typeof PublicRunNode = async (node, options = {}) => {
  if (typeof node !== 'function') throw new TypeError('runNode: node must be what defineNode returns');
  const { ctx, logs, files, progress, requests } = createTestContext(options);
  const trace = { logs, files, progress, requests };
  let output: unknown;
  try {
    output = await (options.http === undefined ? node(ctx) : withGlobalFetch(ctx.fetch, () => node(ctx)));
  } catch (thrown) {
    return { ok: false, error: describe(thrown), thrown, ...trace };
  }
  const maxBytes = options.outputBytes ?? defaultOutputBytes;
  const encoded = encodeJson(output, maxBytes);
  if (encoded.ok) return { ok: true, output: JSON.parse(encoded.text), outputText: encoded.text, ...trace };
  const { kind, place, reason } = encoded.problem;
  const message = `The output${place === '' ? '' : ` at ${place}`} ${reason}.`;
  const error =
    kind === 'too-large'
      ? { code: 'OUTPUT_TOO_LARGE', message, retryable: false }
      : { code: 'OUTPUT_NOT_JSON', message, place, retryable: false };
  return { ok: false, error, thrown: undefined, ...trace };
};

function describe(caught: unknown) {
  const thrown = NodeError.is(caught) ? caught : (fetchFailureIn(caught) ?? caught);
  if (!NodeError.is(thrown)) {
    const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : encodeForLog(thrown);
    const isFull = (thrown as NodeJS.ErrnoException | null | undefined)?.code === 'ENOSPC';
    return { code: isFull ? 'SCRATCH_FULL' : 'NODE_FAILED', message, retryable: false };
  }
  const { code, message, retryable, retryAfterMs, details } = thrown;
  return {
    code,
    message,
    retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(details === undefined ? {} : { details: JSON.parse(encodeForLog(details)) as Json }),
  };
}

/** Through JSON and back: what a run could not carry fails here. */
function frozenCopy(what: 'input' | 'config', value: unknown): unknown {
  const encoded = encodeJson(value, maxInputBytes);
  if (encoded.ok) return freezeJson(JSON.parse(encoded.text));
  const { place, reason } = encoded.problem;
  throw new TypeError(`${what}${place === '' ? '' : ` at ${place}`} ${reason}`);
}

function createClock(now: number | string): TestClock {
  let time = typeof now === 'number' ? now : Date.parse(now);
  if (!Number.isFinite(time)) throw new TypeError('now must be milliseconds or a date as text');
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}

function sleeper(clock: TestClock, cancelled: AbortSignal): NodeContext['clock']['sleep'] {
  return async (ms, options = {}) => {
    checkSleep(ms);
    const { signal } = options;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new TypeError('ctx.clock.sleep: signal must be an AbortSignal');
    }
    cancelled.throwIfAborted();
    signal?.throwIfAborted();
    clock.advance(ms);
    // A whole turn of the loop, so that whatever cancels has its chance between two sleeps.
    await new Promise((resolve) => setImmediate(resolve));
    cancelled.throwIfAborted();
    signal?.throwIfAborted();
  };
}

function createLog({ logs }: TestTrace): NodeContext['log'] {
  const at = (level: LogLevel) => (message: unknown, fields?: unknown) => {
    checkLog(level, message, fields);
    logs.push({
      level,
      message,
      ...(fields === undefined ? {} : { fields: JSON.parse(encodeForLog(fields)) as Json }),
    });
  };
  return Object.freeze({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') });
}

function createFiles(
  { files }: TestTrace,
  limits: 'none' | { maxBytes?: number; maxCount?: number },
): NodeContext['files'] {
  const taken = new Set<string>();
  const { maxBytes, maxCount } = limits === 'none' ? { maxBytes: 0, maxCount: 0 } : { ...defaultFiles, ...limits };
  let total = 0;
  const write = async (name: string, data: unknown, mediaType: string = defaultMediaType): Promise<StoredFile> => {
    const refusal = fileRefusal(name, mediaType);
    if (refusal !== undefined) throw new NodeError('FILE_NAME_REFUSED', refusal);
    const source = fileSource(data);
    if (limits === 'none')
      throw new NodeError('FILES_NOT_DECLARED', 'ctx.files.write: node.json declares no capabilities.files');
    if (taken.has(name)) {
      throw new NodeError('FILE_NAME_REFUSED', 'ctx.files.write: this run has a file of that name already');
    }
    if (taken.size >= maxCount) throw overLimit();
    taken.add(name);
    try {
      const parts: Buffer[] = [];
      for await (const part of chunksOf(source)) {
        total += part.length;
        if (total > maxBytes) throw overLimit();
        parts.push(part);
      }
      const file = storedFile(name, mediaType, Buffer.concat(parts));
      files.push(file);
      return { digest: file.digest, sizeBytes: file.sizeBytes };
    } catch (error) {
      taken.delete(name);
      throw error;
    }
  };
  return Object.freeze({ write });
}

const overLimit = (): NodeError =>
  new NodeError('FILES_LIMIT', 'ctx.files.write: the files of this run are over capabilities.files');

function storedFile(name: string, mediaType: string, content: Buffer): TestFile {
  return {
    name,
    mediaType,
    content: new Uint8Array(content),
    text: content.toString('utf8'),
    digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
    sizeBytes: content.length,
  };
}

/** Copies, since the node may use its buffer again. Leaving early closes the node's stream. */
async function* chunksOf(source: FileSource): AsyncGenerator<Buffer> {
  if (source.kind === 'chunk') {
    yield Buffer.from(source.chunk as string);
    return;
  }
  const { iterator } = source;
  let open = true;
  try {
    for (;;) {
      const step = await iterator.next();
      if (step.done) {
        open = false;
        return;
      }
      if (!isChunk(step.value)) throw wrongChunk(step.value);
      yield Buffer.from(step.value as string);
    }
  } finally {
    if (open) await iterator.return?.();
  }
}

/** Gone with the process that tests. */
function makeScratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-test-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
