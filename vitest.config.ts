import { defineConfig } from 'vitest/config';

const long = '**/*.long.test.ts';
/** Tests that boot cells. They look at what the whole host holds before and after, so they run one file at a time. */
const cells = [
  'test/**/*.test.ts',
  'adapters/cell-{oci,docker}/**/*.test.ts',
  'apps/**/*.test.ts',
  'tools/demo/**/*.test.ts',
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
          exclude: [...elsewhere, ...cells, long],
          sequence: { groupOrder: 0 },
          ...limits,
        },
      },
      {
        test: {
          name: 'cells',
          include: cells,
          exclude: [...elsewhere, long],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          ...limits,
        },
      },
    ],
  },
});
