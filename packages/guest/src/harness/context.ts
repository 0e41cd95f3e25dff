import type { Job } from '@glovebox/contract';
import type { NodeContext } from '@glovebox/sdk';
import {
  checkLog,
  checkSleep,
  encodeForLog,
  freezeJson,
  type LogLevel,
  readProgress,
} from '@glovebox/sdk/context-rules';
import type { Fetch } from '../net/context-fetch.ts';
import { abortedBy, type Cancellation, onAbort } from './cancellation.ts';
import type { FileWriter } from './files.ts';
import { contextError } from './guest-error.ts';
import type { LogStream } from './log-stream.ts';
import { floor, freeze, monotonicMs, PlainPromise, PlainTypeError, startTimer, stopTimer } from './primordials.ts';
import type { ProgressReporter } from './progress.ts';

const scratch = '/tmp';

export interface ContextParts {
  job: Job;
  /** When the job arrived, by `monotonicMs`. */
  arrivedMs: number;
  log: LogStream;
  progress: ProgressReporter;
  files: FileWriter;
  cancellation: Cancellation;
  fetch: Fetch;
}

/**
 * What the handler is called with. Frozen: a library cannot replace one part of it behind the back of another.
 *
 * `credentials` is there and answers `NOT_AVAILABLE_YET`; the SDK's types do not have it.
 */
export function createContext(parts: ContextParts): NodeContext<unknown, unknown> {
  const { job, arrivedMs, progress, files, cancellation } = parts;
  const { project, node, run, attempt, correlation } = job.ids;
  const now = (): number => floor(job.nowMs + (monotonicMs() - arrivedMs));
  const context = {
    input: freezeJson(job.input),
    config: freezeJson(job.config),
    log: freeze(createLog(parts.log)),
    clock: freeze({ now, sleep: (ms: number, options?: { signal?: AbortSignal }) => sleep(cancellation, ms, options) }),
    signal: cancellation.signal,
    scratch,
    files: freeze({
      write: (name: unknown, data: unknown, mediaType?: unknown) => files.write(name, data, mediaType),
    }),
    ids: freeze({ project, node, run, attempt, correlation }),
    idempotencyKey: job.idempotencyKey,
    progress: (first: unknown, second?: unknown) => progress.report(readProgress(first, second)),
    fetch: parts.fetch,
    credentials: freeze({
      has: unavailable('ctx.credentials.has'),
      reveal: unavailableLater('ctx.credentials.reveal'),
    }),
  };
  return freeze(context) as unknown as NodeContext<unknown, unknown>;
}

function createLog(stream: LogStream): NodeContext['log'] {
  const at =
    (level: LogLevel) =>
    (message: unknown, fields?: unknown): void => {
      checkLog(level, message, fields);
      stream.write('node', level, message, fields === undefined ? undefined : encodeForLog(fields));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Not an async function: one that returns a promise calls its `then`, whoever wrote that. */
function sleep(cancellation: Cancellation, ms: unknown, options: unknown = {}): Promise<void> {
  return new PlainPromise((resolve, reject) => {
    checkSleep(ms);
    if (typeof options !== 'object' || options === null) {
      throw new PlainTypeError('ctx.clock.sleep: options must be an object');
    }
    const { signal } = options as { signal?: AbortSignal };
    const aborted = signal === undefined ? undefined : abortedBy(signal);
    if (cancellation.reason) throw cancellation.reason;
    if (aborted) throw aborted.reason;
    const timer = startTimer(() => {
      forget();
      resolve();
    }, ms);
    const stop = (reason: unknown): void => {
      stopTimer(timer);
      forget();
      reject(reason);
    };
    const forgetOwn = cancellation.onCancel(stop);
    const forgetOther = signal === undefined ? undefined : onAbort(signal, stop);
    const forget = (): void => {
      forgetOwn();
      forgetOther?.();
    };
  });
}

/** What comes with a later version: it fails at once, and says so. */
function unavailableLater(what: string): () => Promise<never> {
  return async () => {
    throw contextError('NOT_AVAILABLE_YET', `${what} is not available yet`);
  };
}

function unavailable(what: string): () => never {
  return () => {
    throw contextError('NOT_AVAILABLE_YET', `${what} is not available yet`);
  };
}
