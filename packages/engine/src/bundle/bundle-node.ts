import type { Readable } from 'node:stream';
import { type Cell, type CellDriver, type CellEnd, type CellFacts, planBundleCell } from '@glovebox/cell';
import { serveChannel } from '@glovebox/channel';
import { type Digest, type Finding, GloveboxError, type Json, newCellId } from '@glovebox/contract';
import type { LockedPackage, NodePackage } from '../ports.ts';
import { BuildChannel } from './build-channel.ts';
import { checkInputs } from './build-inputs.ts';
import { type BuilderLayout, buildRequest, cellLayout } from './build-options.ts';
import { type BuildOutcome, concludeBuild, maxAnswerBytes } from './build-outcome.ts';
import { requestBuild } from './esbuild-service.ts';
import { printable } from './printable.ts';

/** What a builder cell has for all it does. The driver kills it at the end of that, whatever this process does. */
export const buildDeadlineMs = 90_000;

/** At each end: a program says first why it dies, and last where. */
const stderrKeptBytes = 4 * 1024;

export interface BundleRequest {
  pkg: Pick<NodePackage, 'files' | 'dependencies'>;
  /** Every package of `pkg.dependencies`, with its archive. */
  tarballs: readonly (LockedPackage & { bytes: Uint8Array })[];
}

export interface BundleOptions {
  driver: CellDriver;
  /** Digest of the builder image. */
  image: Digest;
  signal?: AbortSignal;
  onProgress?: (step: 'boot' | 'unpack' | 'bundle' | 'teardown') => void;
  /** For tests without a cell. */
  layout?: BuilderLayout;
  deadlineMs?: number;
}

export interface Bundle {
  bundle: Uint8Array;
  /** sha256 of `bundle`. */
  bundleDigest: Digest;
  /** JSON of a source map, with the sources in it. */
  sourceMap: Uint8Array;
  /** What is in the bundle and where it comes from, as esbuild tells it, paths relative to the package. */
  metafile: Json;
  /** What the bundler remarks about the author's files. */
  warnings: Finding[];
}

export type BundleResult =
  | ({ ok: true; cellFacts: CellFacts; end: CellEnd } & Bundle)
  | { ok: false; findings: Finding[] };

/**
 * Make one ES module of a node package and its dependencies, in a fresh builder cell, from nothing but the bytes that are
 * passed. The same bytes give the same bundle on any host.
 *
 * No author or dependency code runs, no install script, no plugin, no configuration of the author's. Resolves only when
 * the cell is confirmed dead.
 *
 * @returns the bundle, or what is wrong with the package: refused archives and dependencies, errors of the bundler with file
 *   and line, and builds that are too large, too slow or too hungry.
 * @throws GloveboxError as CellDriver.boot does, `CELL_BOOT_FAILED`, `CELL_LOST`, `CHANNEL_CORRUPTED`, `INTERRUPTED` when
 *   `signal` is aborted.
 */
export async function bundleNode(request: BundleRequest, options: BundleOptions): Promise<BundleResult> {
  const refused = checkInputs(request);
  if (refused.length > 0) return { ok: false, findings: refused };
  throwIfAborted(options.signal);
  options.onProgress?.('boot');
  const plan = planBundleCell(options.image);
  const cell = await options.driver.boot(plan, newCellId());
  const abort = (): void => cell.kill('cancelled');
  options.signal?.addEventListener('abort', abort, { once: true });
  if (options.signal?.aborted) abort();
  const stderr = keepEnds(cell.stderr);
  // A dying cell breaks its pipes at any time; how it died is told by its end.
  for (const stream of [cell.stdin, cell.stdout]) stream?.on('error', () => {});
  try {
    void cell
      .dispatch({ cpu: plan.limits.cpu, deadlineMs: options.deadlineMs ?? buildDeadlineMs })
      .catch(() => cell.kill('violation'));
    const outcome = await build(cell, request, options);
    options.onProgress?.('teardown');
    // A cell that has ended its output is about to die of something, and its end will tell of what.
    if (outcome.kind === 'ended') setTimeout(() => cell.kill('violation'), endedGraceMs).unref();
    else cell.kill('done');
    const end = await cell.ended;
    throwIfAborted(options.signal);
    return concludeBuild(outcome, cell, end, request, options.layout ?? cellLayout, stderr());
  } catch (error) {
    cell.kill('violation');
    await cell.ended;
    throwIfAborted(options.signal);
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
}

/** How long a process may live on after it has closed its output. */
const endedGraceMs = 2_000;

async function build(cell: Cell, request: BundleRequest, options: BundleOptions): Promise<BuildOutcome> {
  const control = new BuildChannel({ files: request.pkg.files, packages: request.tarballs });
  const channel = serveChannel(cell.channel, (stream) => {
    if (control.phase === 'booting') options.onProgress?.('unpack');
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
    // The report is taken before the channel's end is looked at: the builder closes the channel right after it.
    const report = await Promise.race([control.report, gone.then(() => settled(control.report))]);
    if (report === 'unsettled') return { kind: 'ended', during: control.phase === 'booting' ? 'boot' : 'unpack' };
    if (report.findings.length > 0) return { kind: 'refused', report };
    options.onProgress?.('bundle');
    const { stdin } = cell;
    if (stdin === null) throw new GloveboxError('INTERNAL', { message: 'The driver gave a builder cell no stdin.' });
    const built = await requestBuild(stdin, cell.stdout, buildRequest(options.layout ?? cellLayout), maxAnswerBytes);
    if (built.ok) return { kind: 'built', answer: built.answer, report };
    if (built.failure.kind === 'ended') return { kind: 'ended', during: 'bundle' };
    return { kind: 'failed', failure: built.failure };
  } finally {
    channel.close();
    // Whatever is left in it would keep a dead cell's pipe open.
    cell.stdout.resume();
  }
}

/** The promise's value if it has one by now. */
function settled<T>(promise: Promise<T>): Promise<T | 'unsettled'> {
  return Promise.race([promise, new Promise<'unsettled'>((resolve) => setImmediate(() => resolve('unsettled')))]);
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new GloveboxError('INTERRUPTED', { message: 'The build was cancelled.' });
}

/** Read to the end, so that the cell never blocks on it, and keep the first and the last bytes. */
function keepEnds(stream: Readable): () => string {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    const taken = stderrKeptBytes - head.length;
    if (taken > 0) head = Buffer.concat([head, chunk.subarray(0, taken)]);
    tail = Buffer.concat([tail, chunk.subarray(taken)]).subarray(-stderrKeptBytes);
  });
  stream.on('error', () => {});
  return () => Buffer.concat([head, tail]).toString('utf8');
}
