import type { CellEnd } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import { printable } from '../printable.ts';
import type { BuilderStep } from './builder-cell.ts';

/**
 * Why a builder cell ended before it was done. Running out of time or memory at its work is the doing of what it was given;
 * all else comes as the error to throw, unless the caller knows better. So does running out of them before: what boots and
 * unpacks is ours, in bounds that fit, and a host that stalls must not make a package fail.
 */
export function explainEnd(during: BuilderStep, end: CellEnd, stderrText: string): 'time' | 'memory' | GloveboxError {
  if (during === 'work' && (end.cause === 'deadline' || end.cause === 'lifetime')) return 'time';
  if (during === 'work' && end.cause === 'oom') return 'memory';
  const said = firstLines(stderrText);
  return new GloveboxError(during === 'boot' ? 'CELL_BOOT_FAILED' : 'CELL_LOST', {
    message: `The builder cell ended (${end.cause}, ${howItEnded(end)}) in its ${during} step${said === '' ? '.' : `: ${said}`}`,
  });
}

export function howItEnded({ exit }: CellEnd): string {
  return exit.signal ?? `exit code ${exit.code}`;
}

/** The first lines of what a cell printed, on one line. */
export function firstLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return printable(lines.slice(0, 5).join(' '), 500);
}
