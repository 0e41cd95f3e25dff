import type { CellPlan, Digest } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { cellCommand } from './command.ts';
import { planBundleCell, planRunCell, planTestsCell, planTypesCell } from './plan.ts';

const image = `sha256:${'0'.repeat(64)}` as Digest;
const MiB = 1024 * 1024;
const limits = {
  cpu: 1,
  memoryBytes: 128 * MiB,
  pids: 64,
  timeoutMs: 30_000,
  outputBytes: MiB,
  logBytes: MiB,
  filesBytes: 0,
  filesCount: 0,
  scratchBytes: MiB,
};

/** The whole command of each kind of cell. A change of it is a decision, so it is written down here once more. */
const own = ['--no-experimental-ffi', '--disallow-code-generation-from-strings'];
const author = ['--no-experimental-ffi', '--disable-sigusr1', '--disable-warning=ExperimentalWarning'];
const commands: [CellPlan, string[]][] = [
  [
    planRunCell(image, limits, 'ns'),
    [
      ...['--permission', '--allow-fs-read=/glovebox/', '--allow-fs-read=/tmp/', '--allow-fs-write=/tmp/', ...author],
      ...['--max-semi-space-size=16', '--max-old-space-size=88', '/glovebox/harness.cjs'],
    ],
  ],
  [
    planTestsCell(image, 'ns'),
    [
      ...['--permission', '--allow-fs-read=/glovebox/', '--allow-fs-read=/toolchain/', '--allow-fs-read=/tmp/'],
      ...['--allow-fs-write=/tmp/', ...author],
      ...['--max-semi-space-size=16', '--max-old-space-size=472', '/glovebox/tester.cjs'],
    ],
  ],
  [planBundleCell(image, 'ns'), [...own, '/glovebox/builder.cjs']],
  [planTypesCell(image, 'ns'), [...own, '/glovebox/type-checker.cjs']],
  [{ ...planTypesCell(image, 'ns'), role: 'probe' }, [...own, '/glovebox/probe.cjs']],
];

describe('the command of a cell', () => {
  it.each(commands)('for $role is fixed', (plan, args) => {
    expect(cellCommand(plan)).toEqual(['/usr/bin/node', ...args]);
  });

  it('takes nothing from a plan but its role and its memory', () => {
    const plan = planTestsCell(image, 'ns');
    const other = { ...plan, limits: { ...plan.limits, cpu: 2, pids: 99, openFiles: 99, lifetimeMs: 5000 } };
    expect(cellCommand({ ...other, args: ['--inspect'], env: { NODE_OPTIONS: '--inspect' } } as CellPlan)).toEqual(
      cellCommand(plan),
    );
  });
});
