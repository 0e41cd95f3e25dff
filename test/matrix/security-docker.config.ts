import { defineConfig } from 'vitest/config';

/**
 * Attack suites once more, on cells that a container engine makes. Not among them is what holds cells of `cell-oci` to its own
 * words and flags (builder-cells, environment, neighbours), and what is judged on the host alone (hostile-texts).
 */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    allowOnly: false,
    passWithNoTests: false,
    globalSetup: ['test/matrix/engine-of-run.ts'],
    include: [
      'archives',
      'channel-forgery',
      'code-from-strings',
      'exhaustion',
      'files',
      'flood',
      'helper-arguments',
      'loops',
      'modules',
      'permission-flags',
      'processes',
      'prototypes',
      'residue',
      'shared-builtins',
      'sockets',
    ].map((name) => `test/security/${name}.test.ts`),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});
