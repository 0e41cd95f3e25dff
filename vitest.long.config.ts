import { defineConfig } from 'vitest/config';

/** What takes minutes, and judges nothing beyond its own processes and instances: two files at a time. */
const beside = [
  'adapters/store-sqlite/**/*.long.test.ts',
  'packages/**/*.long.test.ts',
  'test/compat/**/*.long.test.ts',
  'test/crash/kill.long.test.ts',
  'test/e2e/{cassettes,cli-bad-input,cli-dev,cli-nodes,cli-policy,cli-releases,cli-terminal,reproducible,workloads}.long.test.ts',
  'test/matrix/**/*.long.test.ts',
  'test/mutants/**/*.long.test.ts',
  'test/security/hostile-cell.long.test.ts',
];
const elsewhere = ['**/node_modules/**', '**/fixtures/**', '**/.cache/**'];
const limits = { testTimeout: 15 * 60_000, hookTimeout: 5 * 60_000, teardownTimeout: 30_000 };

/** What takes minutes: fuzzing at length, every combination, installing packages of the system. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/nothing-left.ts'],
    pool: 'forks',
    maxWorkers: 2,
    allowOnly: false,
    passWithNoTests: false,
    projects: [
      { test: { name: 'beside', include: beside, exclude: elsewhere, sequence: { groupOrder: 0 }, ...limits } },
      {
        test: {
          name: 'alone',
          include: ['**/*.long.test.ts'],
          exclude: [...elsewhere, ...beside],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          ...limits,
        },
      },
    ],
  },
});
