import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';

/** One figure. `value` is null when it could not be had; the note then has the command and what it printed. */
export interface Row {
  id: string;
  value: number | null;
  unit: string;
  /** This figure divided by that of `vs`, from the same run. */
  ratio?: number;
  vs?: string;
  /** Samples, failures included. */
  n: number;
  /** What the figure begins and ends with. */
  boundary: string;
  note?: string;
}

export interface Report {
  bench: string;
  commit: string;
  machine: { cpu: string; cores: number; memoryGiB: number; kernel: string; node: string };
  quick: boolean;
  rows: Row[];
}

export function report(bench: string, quick: boolean, rows: Row[]): Report {
  return {
    bench,
    commit: commit(),
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      kernel: release(),
      node: process.versions.node,
    },
    quick,
    rows,
  };
}

function commit(): string {
  try {
    const head = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const dirty =
      execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }) !== '';
    return dirty ? `${head}+changes` : head;
  } catch {
    return 'unknown';
  }
}

export function printTable({ bench, commit: head, machine, quick, rows }: Report): string {
  const cells = rows.map((row) => [
    row.id,
    row.value === null ? '–' : row.value.toFixed(row.value < 10 ? 2 : 1),
    row.unit,
    row.ratio === undefined ? '' : `${row.ratio.toFixed(2)} × ${row.vs}`,
    String(row.n),
    row.boundary + (row.note === undefined ? '' : ` [${row.note}]`),
  ]);
  const head_ = ['id', 'value', 'unit', 'ratio', 'n', 'boundary'];
  const widths = head_.map((title, i) => Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)));
  const line = (texts: string[]): string =>
    texts
      .map((text, i) => (i === 1 ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [
    `bench ${bench} at ${head}${quick ? ' (quick)' : ''} on ${machine.cores} × ${machine.cpu}, Linux ${machine.kernel}, Node.js ${machine.node}`,
    line(head_),
    ...cells.map(line),
  ].join('\n');
}
