import { defineConfig } from 'vitest/config';

/** For the tests that are to notice a mutant: one that hangs has noticed, and none is given long. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/fixtures/**', '**/.cache/**'],
    testTimeout: 12_000,
    hookTimeout: 20_000,
    teardownTimeout: 5000,
  },
});
