import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { runTests } from './tests.ts';

/**
 * `npm test`: every check of the sources, then every test but the long ones. All of them run, whatever fails before.
 * Arguments go to vitest, so that `npm test -- packages/channel` runs the tests of one package.
 *
 * The last line is `N passed, N failed`; a check counts as one.
 */
const root = resolve(import.meta.dirname, '..');

const checks: { name: string; argv: string[] }[] = [
  { name: 'types', argv: ['node_modules/typescript/bin/tsc', '--project', '.'] },
  { name: 'lint and format', argv: ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'] },
  {
    name: 'nothing unused',
    argv: ['node_modules/knip/bin/knip.js', '--no-progress', '--no-config-hints'],
  },
  { name: 'boundaries', argv: ['tools/boundaries.ts'] },
  { name: 'error codes', argv: ['tools/error-codes.ts'] },
  { name: 'documents', argv: ['tools/docs-check.ts'] },
  { name: 'own lockfile', argv: ['tools/audit-self.ts'] },
];

let passed = 0;
let failed = 0;
for (const { name, argv } of checks) {
  const started = performance.now();
  const { code, output } = await run(argv);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(16)} ${seconds.padStart(6)} s`);
  if (code === 0) passed++;
  else {
    failed++;
    console.log(output.replace(/^(?=.)/gm, '        '));
  }
}
const tests = await runTests(root, 'vitest.config.ts', process.argv.slice(2));
console.log(
  `checks: ${passed} passed, ${failed} failed; tests: ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped`,
);
console.log(`${passed + tests.passed} passed, ${failed + tests.failed} failed`);
process.exitCode = failed + tests.failed === 0 ? 0 : 1;

function run(argv: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolveRun, reject) => {
    const child = spawn(process.execPath, argv, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (chunk: string) => {
        output += chunk;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolveRun({ code, output }));
  });
}
