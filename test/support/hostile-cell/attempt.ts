import { expect } from 'vitest';
import { type HostileOptions, type HostileRun, runHostile } from './run.ts';

/** One attempt on a hostile cell. Whatever it does, its process is dead by then, and none of its files is half-written. */
export async function attempt(
  scenario: string,
  args: readonly (string | number)[] = [],
  options: HostileOptions = {},
): Promise<HostileRun> {
  const run = await runHostile(scenario, args, options);
  const { child } = run.driver;
  expect(child?.exitCode === null && child.signalCode === null).toBe(false);
  expect(run.leftovers).toEqual([]);
  return run;
}

/** State and error code. */
export const seen = ({ report }: HostileRun) => [report.state, report.error?.code ?? null];
