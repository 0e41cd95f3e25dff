import { type CheckId, type CheckResult, checkIds, formatDuration } from '@glovebox/contract';
import { type Output, paint } from './output.ts';

type Standing = { kind: 'waiting' } | { kind: 'going-on'; sinceMs: number } | { kind: 'ended'; result: CheckResult };

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;

/**
 * The checks of a validation while they go on, on stderr: on a terminal a list that is drawn again in place, else one line
 * for each check that has ended. Nothing where nobody looks at progress.
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
    this.#inPlace = output.showsProgress && process.stderr.isTTY === true;
    if (this.#inPlace) this.#timer = setInterval(() => this.#draw(), frameMs).unref();
  }

  began(id: CheckId): void {
    this.#standings.set(id, { kind: 'going-on', sinceMs: performance.now() });
  }

  ended(result: CheckResult): void {
    this.#standings.set(result.id, { kind: 'ended', result });
    if (!this.#inPlace) this.#output.progress(endedLine(result));
  }

  /** Draw it for the last time. May be called again. */
  close(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#draw();
  }

  #draw(): void {
    this.#frame++;
    const lines = [...this.#standings].map(([id, standing]) => this.#line(id, standing));
    const back = this.#drawnLines === 0 ? '' : `\x1b[${this.#drawnLines}A`;
    this.#output.drawProgress(`${back}${lines.map((line) => `\x1b[2K${line}\n`).join('')}`);
    this.#drawnLines = lines.length;
  }

  #line(id: CheckId, standing: Standing): string {
    if (standing.kind === 'ended') return endedLine(standing.result);
    if (standing.kind === 'waiting') return paint('dim', `  · ${id}`, process.stderr);
    const mark = paint('cyan', frames[this.#frame % frames.length] as string, process.stderr);
    return `  ${mark} ${id.padEnd(9)} ${formatDuration(performance.now() - standing.sinceMs).padStart(8)}`;
  }
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
  const time = formatDuration(durationMs).padStart(8);
  return `  ${paint(style, mark, process.stderr)} ${id.padEnd(9)} ${time}  ${paint('dim', notes.join(', '), process.stderr)}`.trimEnd();
}
