import { constants } from 'node:os';
import type { CellEnd } from './driver.ts';

/** Runtimes and engines tell death by a signal as 128 and its number. A code that a process chose above 128 reads the same. */
export function readExitCode(code: number): CellEnd['exit'] {
  const name = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return code <= 128 || name === undefined ? { code, signal: null } : { code: null, signal: name };
}
