import type { CancelNotice, Job } from '@glovebox/contract';
import { encodeJson } from '@glovebox/sdk/context-rules';
import type { Network } from '../net/network.ts';
import { importBundle } from './bundle-loader.ts';
import { Cancellation } from './cancellation.ts';
import type { CellChannel } from './cell-channel.ts';
import { createContext } from './context.ts';
import { type Control, paths, textOfBody } from './control.ts';
import { FileWriter } from './files.ts';
import { describeThrown, type Failure, failureText } from './guest-error.ts';
import { LogStream } from './log-stream.ts';
import { apply, parseJsonText, runSoon, startTimer } from './primordials.ts';
import { ProgressReporter } from './progress.ts';
import { whenSettled } from './promises.ts';

/** How long a handler runs before the event loop is made to read the channel, which takes some milliseconds. */
const listenAfterMs = 20;

type State = { kind: 'loading' } | { kind: 'running' } | { kind: 'ended' };

export interface AttemptParts {
  channel: CellChannel;
  control: Control;
  job: Job;
  /** When the job arrived, by `monotonicMs`. */
  arrivedMs: number;
  network: Network;
  exitNow: (code: number) => never;
}

/**
 * One attempt, from the bundle's text to the one result. The first of these ends it: the handler settles, an error that
 * nobody catches, a load that fails, an event loop with nothing left to do, a call of `process.exit`.
 *
 * From `load` on author code is there: nothing here awaits, and every built-in is a primordial.
 */
export class Attempt {
  readonly log: LogStream;
  readonly #control: Control;
  readonly #channel: CellChannel;
  readonly #job: Job;
  readonly #progress: ProgressReporter;
  readonly #files: FileWriter;
  readonly #cancellation = new Cancellation();
  readonly #context: unknown;
  readonly #network: Network;
  readonly #exitNow: (code: number) => never;
  #flushOutput: () => void = () => undefined;
  #state: State = { kind: 'loading' };

  constructor({ channel, control, job, arrivedMs, network, exitNow }: AttemptParts) {
    this.#exitNow = exitNow;
    this.#network = network;
    this.#control = control;
    this.#channel = channel;
    this.#job = job;
    this.log = new LogStream(control, job.limits.logBytes);
    this.#progress = new ProgressReporter(control, channel);
    this.#files = new FileWriter(control, channel, job.limits);
    this.#context = createContext({
      job,
      arrivedMs,
      log: this.log,
      progress: this.#progress,
      files: this.#files,
      cancellation: this.#cancellation,
      fetch: network.fetch,
    });
  }

  /** @param flushOutput called before the result, for lines that are not complete. */
  load(bundle: string, flushOutput: () => void): void {
    this.#flushOutput = flushOutput;
    whenSettled(
      importBundle(bundle),
      (module) => this.#run((module as { default?: unknown }).default),
      (thrown) => this.fail(thrown),
    );
  }

  /** Something that nobody caught, wherever it came from. */
  fail(thrown: unknown): void {
    const loading = this.#state.kind === 'loading';
    this.#end('error', () => failureText(describeThrown(thrown, loading ? 'NODE_LOAD_FAILED' : 'NODE_FAILED')));
  }

  /** The event loop has nothing left to do. */
  drained(): void {
    // What waits for a server that never speaks hears of it now, and may tell why it fails. Once more around the loop: where
    // that leads to nothing, Node.js would end the process without a word, as it tells but once of a loop that stays empty.
    if (this.#state.kind !== 'ended' && this.#network.giveUp()) {
      runSoon(() => undefined);
      return;
    }
    const what = this.#state.kind === 'loading' ? 'A top-level await' : 'The handler';
    this.#failWith({ code: 'NODE_NEVER_SETTLED', message: `${what} waits for something that can never happen.` });
  }

  /** The node called `process.exit`. What can be sent without yielding is sent. */
  exited(code: unknown): void {
    const status = typeof code === 'number' || typeof code === 'string' ? ` with ${code}` : '';
    const failure = { code: 'NODE_EXITED', message: `The node called process.exit${status}.` };
    this.#end('error', () => failureText(failure), 'at-once');
  }

  #run(handler: unknown): void {
    if (this.#state.kind !== 'loading') return;
    if (typeof handler !== 'function') {
      const got = handler === undefined ? 'nothing' : `a value of type ${typeof handler}`;
      this.#failWith({
        code: 'NODE_NOT_A_HANDLER',
        message: `src/index.ts must export a handler as its default; it exports ${got}.`,
      });
      return;
    }
    this.#state = { kind: 'running' };
    this.#control.send('POST', paths.loaded, '');
    this.#watchCancel();
    // Before a handler that never yields: its time counts from here.
    this.#control.flush();
    let result: unknown;
    try {
      result = apply(handler as (ctx: unknown) => unknown, undefined, [this.#context]);
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    whenSettled(
      result,
      (output) => this.#succeed(output),
      (thrown) => this.fail(thrown),
    );
  }

  /** Not read before the handler has run for a while: most are done by then. */
  #watchCancel(): void {
    const timer = startTimer(() => this.#channel.listen(), listenAfterMs);
    timer.unref();
    whenSettled(
      this.#control.get(paths.cancel),
      (answer) => {
        const { status, body } = answer as { status: number; body: Uint8Array };
        if (status === 200) this.#cancellation.cancel(parseJsonText(textOfBody(body)) as CancelNotice);
      },
      () => undefined,
    );
  }

  #succeed(output: unknown): void {
    if (this.#state.kind === 'ended') return;
    const limit = this.#job.limits.outputBytes;
    const encoded = encodeJson(output, limit);
    if (encoded.ok) {
      this.#end('output', () => encoded.text);
      return;
    }
    const { kind, place, reason } = encoded.problem;
    const where = place === '' ? 'The output' : `The output at ${place}`;
    if (kind === 'too-large') this.#failWith({ code: 'OUTPUT_TOO_LARGE', message: `The output ${reason}.` });
    else this.#failWith({ code: 'OUTPUT_NOT_JSON', message: `${where} ${reason}.`, place });
  }

  #failWith(failure: Failure): void {
    this.#end('error', () => failureText(failure));
  }

  /**
   * Exactly one result, after the last log line and the last progress. Then the process blocks until the host kills it:
   * whatever author code is still under way does not get another turn.
   */
  #end(kind: 'output' | 'error', text: () => string, when: 'after-logs' | 'at-once' = 'after-logs'): void {
    if (this.#state.kind === 'ended') return;
    this.#state = { kind: 'ended' };
    this.#flushOutput();
    this.#progress.flush();
    const send = (): void => {
      // Requests that the node has left behind may take all the streams there are.
      this.#channel.waitForRoom();
      try {
        this.#control.send('POST', paths.result, text(), { 'glovebox-result': kind });
      } catch {
        // The channel has ended.
      }
      this.#channel.blockForEver(this.#exitNow);
    };
    const logged = this.log.close();
    if (logged === undefined || when === 'at-once') send();
    else whenSettled(this.#channel.block(logged), send, send);
  }
}
