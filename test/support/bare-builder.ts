import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Cell, CellDriver, CellEnd } from '@glovebox/cell';
import { type ErrorData, GloveboxError } from '@glovebox/contract';
import type { BundleOptions } from '@glovebox/engine';
import { type Moment, watchMoments } from './cell-moments.ts';

type BuilderLayout = NonNullable<BundleOptions['layout']>;

const root = new URL('../../', import.meta.url).pathname;
const esbuildBinary = join(root, `node_modules/@esbuild/linux-${process.arch}/bin/esbuild`);

export interface BareOptions {
  /** The builder, of `builderProgram`, or a program that gets its arguments in its place. */
  program: string;
  /** In place of esbuild. */
  esbuild?: string;
  /** It dies that long after its dispatch at the latest. */
  deadlineMs?: number;
  /** What the driver could not do in the end. */
  endError?: ErrorData;
  /** See watchMoments. */
  onMoment?: (moment: Moment) => void;
}

/**
 * The builder as a plain child process, with the cell's descriptors and nothing of its walls: what a cell does, without
 * what it cannot do.
 */
export class BareBuilder implements CellDriver {
  readonly name = 'bare';
  readonly base = mkdtempSync(join(tmpdir(), 'bare-builder-'));
  readonly layout: BuilderLayout = { tree: join(this.base, 'tree'), sdk: join(this.base, 'sdk') };
  /** For tests that kill it from outside. */
  child: ChildProcess | undefined;
  lastEnd: CellEnd | undefined;
  readonly #options: BareOptions;

  constructor(options: BareOptions) {
    this.#options = options;
    mkdirSync(this.layout.sdk);
    writeFileSync(
      join(this.layout.sdk, 'package.json'),
      '{"name":"@glovebox/sdk","type":"module","main":"./index.js"}',
    );
    writeFileSync(
      join(this.layout.sdk, 'index.js'),
      'export const defineNode = (handler) => ({ sdk: true, handler });',
    );
  }

  boot(): Promise<Cell> {
    rmSync(this.layout.tree, { recursive: true, force: true });
    const args = [
      this.#options.program,
      '--tree',
      this.layout.tree,
      '--esbuild',
      this.#options.esbuild ?? esbuildBinary,
    ];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: {} });
    this.child = child;
    let cause: CellEnd['cause'] = 'self';
    let timer: NodeJS.Timeout | undefined;
    const kill = (why: CellEnd['cause']): void => {
      if (cause === 'self' && child.exitCode === null && child.signalCode === null) cause = why;
      child.kill('SIGKILL');
    };
    const ended = new Promise<CellEnd>((resolve) => {
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        this.lastEnd = {
          cause,
          exit: { code, signal },
          pidsLimitHit: false,
          peakMemoryBytes: null,
          peakPids: null,
          teardownMs: 0,
          ...(this.#options.endError === undefined ? {} : { error: this.#options.endError }),
        };
        resolve(this.lastEnd);
      });
    });
    const cell = {
      id: 'cell_bare' as Cell['id'],
      facts: { driver: 'bare', runtime: 'none', runtimeVersion: '0', planHash: '', properties: [], acceptedRisks: [] },
      channel: child.stdio[3] as Duplex,
      stdin: child.stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      dispatch: ({ deadlineMs }: { deadlineMs: number }) => {
        timer = setTimeout(() => kill('deadline'), Math.min(deadlineMs, this.#options.deadlineMs ?? deadlineMs));
        return Promise.resolve();
      },
      kill,
      ended,
    } as Cell;
    return Promise.resolve(watchMoments(cell, this.#options.onMoment ?? (() => {})));
  }

  gauges(): never {
    throw new GloveboxError('HOST_UNSUPPORTED');
  }

  inspect(): never {
    throw new GloveboxError('HOST_UNSUPPORTED');
  }

  sweep(): never {
    throw new GloveboxError('HOST_UNSUPPORTED');
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Make the builder in `dir` as it is put into an image: one CommonJS file. */
export function builderProgram(dir: string): string {
  const program = join(dir, 'builder.cjs');
  execFileSync(esbuildBinary, [
    join(root, 'packages/guest/src/builder.ts'),
    '--bundle',
    '--platform=node',
    '--format=cjs',
    '--target=node26',
    '--log-level=warning',
    `--outfile=${program}`,
  ]);
  return program;
}
