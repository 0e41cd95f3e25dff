import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Cell, CellDriver, CellEnd } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';

const program = fileURLToPath(new URL('./program.ts', import.meta.url));

/**
 * A cell without walls: a child process with the descriptors of a run cell, in which a program of ours says whatever a
 * hostile cell could. What it shows is the host's side alone.
 */
export class HostileDriver implements CellDriver {
  readonly name = 'hostile';
  /** Of the last cell; for tests that act on it from outside. */
  child: ChildProcess | undefined;
  /** Reasons in the order in which kills were asked for. */
  readonly kills: string[] = [];
  lastEnd: CellEnd | undefined;
  /** How long a dead cell's remains take to be removed. */
  teardownMs = 0;
  readonly #scenario: string;
  readonly #options: readonly string[];

  /** @param scenario a name in `scenarios.ts`. */
  constructor(scenario: string, ...options: readonly (string | number)[]) {
    this.#scenario = scenario;
    this.#options = options.map(String);
  }

  boot(): Promise<Cell> {
    const child = spawn(process.execPath, [program, this.#scenario, ...this.#options], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: {},
    });
    this.child = child;
    for (const stream of child.stdio) stream?.on('error', () => undefined);
    let cause: CellEnd['cause'] | undefined;
    let deadline: NodeJS.Timeout | undefined;
    const end = (why: CellEnd['cause']): void => {
      cause ??= why;
      child.kill('SIGKILL');
    };
    const ended = new Promise<CellEnd>((resolve) => {
      child.once('exit', (code, signal) => {
        clearTimeout(deadline);
        cause ??= 'self';
        this.lastEnd = {
          cause,
          exit: { code, signal },
          pidsLimitHit: false,
          peakMemoryBytes: null,
          peakPids: null,
          teardownMs: 0,
        };
        setTimeout(resolve, this.teardownMs, this.lastEnd);
      });
    });
    return Promise.resolve({
      id: 'cell_hostile' as Cell['id'],
      facts: {
        driver: 'hostile',
        runtime: 'none',
        runtimeVersion: '0',
        planHash: '',
        properties: [],
        acceptedRisks: [],
      },
      channel: child.stdio[3] as Duplex,
      stdin: null,
      stdout: child.stdout,
      stderr: child.stderr,
      dispatch: ({ deadlineMs }: { deadlineMs: number }) => {
        deadline = setTimeout(() => end('deadline'), deadlineMs);
        return Promise.resolve();
      },
      kill: (why: CellEnd['cause']) => {
        this.kills.push(why);
        end(why);
      },
      ended,
    } as Cell);
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
}
