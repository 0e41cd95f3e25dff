import type { Cell, CellDriver, CellEnd, CellFacts } from '@glovebox/cell';
import { serveChannel } from '@glovebox/channel';
import {
  type CellClass,
  type CellPlan,
  type Digest,
  GloveboxError,
  newCellId,
  type UnpackReport,
} from '@glovebox/contract';
import { printable } from '../printable.ts';
import { BuildChannel, type BuildInputs, type ServeMore } from './build-channel.ts';
import { Printed } from './printed.ts';

export interface BuilderCellOptions {
  driver: CellDriver;
  cellClass: CellClass;
  /** Digest of the builder image. */
  image: Digest;
  signal?: AbortSignal;
}

export interface BuilderWork<T> {
  plan: CellPlan;
  inputs: BuildInputs;
  /** For all of it. The driver kills the cell at its end, whatever this process does. */
  deadlineMs: number;
  /** Answers what the cell asks for once its inputs are unpacked. Without it the cell may ask for nothing more. */
  serve?: ServeMore;
  /**
   * What is to be had from a cell that has unpacked its inputs and now works.
   *
   * @param gone settles when the channel has ended; rejects with `CHANNEL_CORRUPTED` or `CHANNEL_ABUSE`.
   * @returns `ended` where the cell has ended its output instead: it is dying of something, and its end will tell of what.
   */
  work(cell: Cell, gone: Promise<'gone'>): Promise<T | 'ended'>;
}

/** How far a cell came. */
export type BuilderOutcome<T> =
  | { kind: 'done'; value: T; report: UnpackReport }
  /** Something in the inputs was refused. */
  | { kind: 'refused'; report: UnpackReport }
  | { kind: 'ended'; during: BuilderStep };

export type BuilderStep = 'boot' | 'unpack' | 'work';

export interface BuilderResult<T> {
  outcome: BuilderOutcome<T>;
  end: CellEnd;
  facts: CellFacts;
  /** The beginning and the end of what it wrote to its descriptor 2. Bytes of a hostile cell. */
  stderrText: string;
}

/** How long a process may live on after it has closed its output. */
const endedGraceMs = 2_000;

/**
 * Boot a fresh builder cell, give it its inputs, take what it makes of them, and end it. Resolves only when the cell is
 * confirmed dead.
 *
 * @throws GloveboxError as CellDriver.boot does, `CHANNEL_CORRUPTED`, `CHANNEL_ABUSE`, `INTERRUPTED` when `signal` is aborted,
 *   what the driver could not do, and what `work` throws.
 */
export async function useBuilderCell<T>(options: BuilderCellOptions, task: BuilderWork<T>): Promise<BuilderResult<T>> {
  throwIfAborted(options.signal);
  const cell = await options.driver.boot(task.plan, newCellId());
  const abort = (): void => cell.kill('cancelled');
  options.signal?.addEventListener('abort', abort, { once: true });
  if (options.signal?.aborted) abort();
  const stderr = new Printed(cell.stderr, maxPrintedBytes, () => cell.kill('violation'));
  // A dying cell breaks its pipes at any time; how it died is told by its end.
  for (const stream of [cell.stdin, cell.stdout]) stream?.on('error', () => {});
  try {
    void cell.dispatch({ cpu: task.plan.limits.cpu, deadlineMs: task.deadlineMs }).catch(() => cell.kill('violation'));
    const outcome = await perform(cell, task);
    if (outcome.kind === 'ended') setTimeout(() => cell.kill('violation'), endedGraceMs).unref();
    else cell.kill('done');
    const end = await cell.ended;
    throwIfAborted(options.signal);
    // What may still run, or is not gone, has given nothing. Fails closed.
    if (end.error !== undefined) throw new GloveboxError(end.error.code, end.error);
    return { outcome, end, facts: cell.facts, stderrText: stderr.text() };
  } catch (error) {
    cell.kill('violation');
    await cell.ended;
    throwIfAborted(options.signal);
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
}

/** What a cell may print before it is killed for it. */
export const maxPrintedBytes = 16 * 1024 * 1024;

async function perform<T>(cell: Cell, task: BuilderWork<T>): Promise<BuilderOutcome<T>> {
  const control = new BuildChannel(task.inputs, task.serve);
  const channel = serveChannel(cell.channel, (stream) => {
    control.accept(stream);
  });
  const gone = channel.ended.then((end) => {
    if (end.kind === 'abuse' || end.kind === 'corrupted') {
      throw new GloveboxError(end.kind === 'abuse' ? 'CHANNEL_ABUSE' : 'CHANNEL_CORRUPTED', {
        message: `The builder cell was stopped: ${printable(end.detail)}.`,
      });
    }
    return 'gone' as const;
  });
  gone.catch(() => {});
  try {
    // The report is taken before the channel's end is looked at: a builder may close the channel right after it.
    const report = await Promise.race([control.report, gone.then(() => settled(control.report))]);
    if (report === 'unsettled') return { kind: 'ended', during: control.phase === 'booting' ? 'boot' : 'unpack' };
    if (report.findings.length > 0) return { kind: 'refused', report };
    const value = await task.work(cell, gone);
    return value === 'ended' ? { kind: 'ended', during: 'work' } : { kind: 'done', value, report };
  } finally {
    channel.close();
    // Whatever is left in it would keep a dead cell's pipe open.
    cell.stdout.resume();
  }
}

/** The promise's value if it has one by now. */
export function settled<T>(promise: Promise<T>): Promise<T | 'unsettled'> {
  return Promise.race([promise, new Promise<'unsettled'>((resolve) => setImmediate(() => resolve('unsettled')))]);
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new GloveboxError('INTERRUPTED', { message: 'The build was cancelled.' });
}
