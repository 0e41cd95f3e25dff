import { defineConfig } from 'vitest/config';

const long = '**/*.long.test.ts';
/** Tests that boot cells. They judge what is of their own instance alone, so two files may go on at a time. */
const cells = ['test/**/*.test.ts', 'apps/{cli,server}/**/*.test.ts', 'tools/demo/**/*.test.ts'];
/**
 * Tests that judge what the whole host holds, count what others would take of it, or kill at moments of their choice: one
 * file at a time, and nothing beside it.
 */
const host = [
  'adapters/cell-{oci,docker,celld}/**/*.test.ts',
  'apps/celld/**/*.test.ts',
  'test/crash/**/*.test.ts',
  'test/support/**/*.test.ts',
  'test/e2e/{celld,cli-host,concurrency,demo,lost-cell,no-remains}.test.ts',
  'test/security/{celld,celld-users,exhaustion,neighbours,residue,seccomp-trace}.test.ts',
];
const elsewhere = ['**/node_modules/**', '**/fixtures/**', '**/.cache/**', 'bench/nodes/**'];

/** Real processes on a machine that may have two cores and be busy: limits catch what hangs, not what is slow. */
const limits = { testTimeout: 60_000, hookTimeout: 120_000, teardownTimeout: 30_000 };

export default defineConfig({
  test: {
    globalSetup: ['test/support/nothing-left.ts'],
    pool: 'forks',
    maxWorkers: 2,
    allowOnly: false,
    passWithNoTests: false,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{packages,adapters,tools,bench}/**/*.test.ts'],
          exclude: [...elsewhere, ...cells, ...host, long],
          sequence: { groupOrder: 0 },
          ...limits,
        },
      },
      {
        test: {
          name: 'cells',
          include: cells,
          exclude: [...elsewhere, ...host, long],
          sequence: { groupOrder: 1 },
          ...limits,
        },
      },
      {
        test: {
          name: 'host',
          include: host,
          exclude: [...elsewhere, long],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          ...limits,
        },
      },
    ],
  },
});
