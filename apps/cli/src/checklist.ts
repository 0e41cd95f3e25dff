import { type CheckId, type CheckResult, checkIds, formatDuration } from '@glovebox/contract';
import { type Output, paint } from './output.ts';

type Standing = { kind: 'waiting' } | { kind: 'going-on'; sinceMs: number } | { kind: 'ended'; result: CheckResult };

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;
/** The longest line, and the list with a line to spare: on a smaller terminal it could not be drawn in place. */
const room = { columns: 50, rows: checkIds.length + 2 };

/**
 * The checks of a validation while they go on, on stderr: on a terminal a list that is drawn again in place, else one line
 * for each check that has ended. Nothing where nobody looks at progress. Nothing else may be written to the terminal between
 * the beginning of the first check and the close.
 */
export class Checklist {
  readonly #output: Output;
  readonly #standings = new Map<CheckId, Standing>(checkIds.map((id) => [id, { kind: 'waiting' }]));
  readonly #inPlace: boolean;
  #drawnLines = 0;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output) {
    this.#output = output;
    this.#inPlace = output.showsProgress && hasRoom(process.stderr);
  }

  began(id: CheckId): void {
    this.#standings.set(id, { kind: 'going-on', sinceMs: performance.now() });
    if (this.#inPlace) this.#timer ??= setInterval(() => this.#draw(), frameMs).unref();
  }

  ended(result: CheckResult): void {
    this.#standings.set(result.id, { kind: 'ended', result });
    if (!this.#inPlace) this.#output.progress(endedLine(result));
  }

  /** Draw it for the last time. Where no check was told of, nothing is drawn. */
  close(): void {
    clearInterval(this.#timer);
    if (this.#inPlace && [...this.#standings.values()].some(({ kind }) => kind !== 'waiting')) this.#draw();
  }

  #draw(): void {
    this.#frame++;
    const lines = [...this.#standings].map(([id, standing]) => `${this.#line(id, standing)}\n`);
    // From the beginning of the line: a typed Ctrl-C is echoed into the one below the list.
    const back = this.#drawnLines === 0 ? '' : `\r\x1b[${this.#drawnLines}A\x1b[J`;
    this.#output.drawProgress(`${back}${lines.join('')}`);
    this.#drawnLines = lines.length;
  }

  #line(id: CheckId, standing: Standing): string {
    if (standing.kind === 'ended') return endedLine(standing.result);
    if (standing.kind === 'waiting') return paint('dim', `  · ${id}`, process.stderr);
    const mark = paint('cyan', frames[this.#frame % frames.length] as string, process.stderr);
    return `  ${mark} ${id.padEnd(9)} ${formatDuration(performance.now() - standing.sinceMs).padStart(8)}`;
  }
}

/** A terminal that does not tell its size has that of a VT100. */
function hasRoom({ isTTY, columns = 80, rows = 24 }: NodeJS.WriteStream): boolean {
  return isTTY === true && (columns || 80) >= room.columns && (rows || 24) >= room.rows;
}

const marks = {
  passed: ['green', '✓'],
  failed: ['red', '✗'],
  skipped: ['dim', '-'],
  unavailable: ['yellow', '?'],
  cancelled: ['yellow', '-'],
} as const;

function endedLine({ id, state, durationMs, cached, findings }: CheckResult): string {
  const [style, mark] = marks[state];
  const notes = [
    ...(state === 'passed' || state === 'failed' ? [] : [state]),
    ...(findings === 0 ? [] : [`${findings} ${findings === 1 ? 'finding' : 'findings'}`]),
    ...(cached ? ['cached'] : []),
  ];
  // What was not done took no time.
  const time = state === 'skipped' || cached ? '' : formatDuration(durationMs);
  return `  ${paint(style, mark, process.stderr)} ${id.padEnd(9)} ${time.padStart(8)}  ${paint('dim', notes.join(', '), process.stderr)}`.trimEnd();
}
