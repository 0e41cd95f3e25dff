import { defineConfig } from 'vitest/config';

/** What takes minutes: fuzzing at length, every combination, installing packages of the system. One file at a time. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/nothing-left.ts'],
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    allowOnly: false,
    passWithNoTests: false,
    include: ['**/*.long.test.ts'],
    exclude: ['**/node_modules/**', '**/fixtures/**', '**/.cache/**'],
    testTimeout: 15 * 60_000,
    hookTimeout: 5 * 60_000,
    teardownTimeout: 30_000,
  },
});
