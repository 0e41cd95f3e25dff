// @ts-check
import { join } from 'node:path';

/**
 * What a task runs, in the pinned Node.js.
 * @typedef {{ summary: string, script: string, args: string[], trees: string[], tests: boolean }} Task
 *   `script` and `trees` are relative to the clone; a tree is a directory with a package-lock.json of its own. `tests`:
 *   whether what only tests need of the system must be there.
 */

/** @type {Record<string, Task>} */
export const tasks = {
  demo: {
    summary: 'build the images, run a real node and three hostile ones in cells',
    script: 'tools/demo/main.ts',
    args: [],
    trees: ['.'],
    tests: false,
  },
  verify: {
    summary: 'every check and every test but the long ones',
    script: 'tools/verify.ts',
    args: [],
    trees: ['.'],
    tests: true,
  },
  'test-long': { summary: 'the long tests', script: 'tools/test-long.ts', args: [], trees: ['.'], tests: true },
  bench: { summary: 'the benchmarks', script: 'bench/main.ts', args: [], trees: ['.', 'bench'], tests: false },
  fix: {
    summary: 'format, and mend what the linter can',
    script: join('node_modules', '@biomejs', 'biome', 'bin', 'biome'),
    args: ['check', '--write'],
    trees: ['.'],
    tests: false,
  },
  dev: {
    summary: 'run the tests of what changes, as it changes',
    script: join('node_modules', 'vitest', 'vitest.mjs'),
    args: ['watch'],
    trees: ['.'],
    tests: true,
  },
  'docs-write': {
    summary: 'write the generated documents',
    script: 'tools/docs-write.ts',
    args: [],
    trees: ['.'],
    tests: false,
  },
  'docs-check': { summary: 'check the documents', script: 'tools/docs-check.ts', args: [], trees: ['.'], tests: false },
  'audit-self': {
    summary: 'hold our own lockfile to the rules for nodes',
    script: 'tools/audit-self.ts',
    args: [],
    trees: ['.'],
    tests: false,
  },
};

/**
 * `--yes` is for the setup; everything else is the task's.
 * @param {string[]} argv
 */
export function parseArguments(argv) {
  const [name, ...rest] = argv;
  const end = rest.indexOf('--');
  const own = end === -1 ? rest : rest.slice(0, end);
  const yes = own.includes('--yes');
  const args = [...own.filter((arg) => arg !== '--yes'), ...(end === -1 ? [] : rest.slice(end))];
  return { name, yes, args };
}

export function usage() {
  const width = Math.max(...Object.keys(tasks).map((name) => name.length));
  const lines = Object.entries(tasks).map(([name, task]) => `  ${name.padEnd(width)}  ${task.summary}`);
  return `usage: node tools/bootstrap.mjs <task> [--yes] [arguments]\n${lines.join('\n')}\n`;
}
