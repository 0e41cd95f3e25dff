import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runTests } from './tests.ts';

const root = resolve(import.meta.dirname, '..');
const made: string[] = [];
afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true });
});

/** Runs real vitest over test files of the test's own. They lie where vitest can be imported from. */
function tallyOf(files: { [name: string]: string }) {
  const dir = mkdtempSync(join(root, 'node_modules', '.glovebox-tests-'));
  made.push(dir);
  const config = { root: dir, test: { include: ['*.check.js'], exclude: [], passWithNoTests: true } };
  writeFileSync(join(dir, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};`);
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(dir, name), `import { it } from 'vitest';\n${text}`);
  return runTests(root, join(dir, 'vitest.config.mjs'), [], 'dropped');
}

const passing = "it('passes', () => {});";

it('counts what passed and what was skipped', async () => {
  expect(await tallyOf({ 'a.check.js': `${passing} it.skip('later', () => {});`, 'b.check.js': passing })).toEqual({
    passed: 2,
    failed: 0,
    skipped: 1,
  });
});

it('counts what failed', async () => {
  const failing = "it('fails', () => { throw new Error('no'); });";
  expect(await tallyOf({ 'a.check.js': `${passing}${failing}${failing}` })).toEqual({
    passed: 1,
    failed: 2,
    skipped: 0,
  });
});

it('counts a file that does not load as one failure', async () => {
  expect(await tallyOf({ 'a.check.js': passing, 'b.check.js': "import './gone.js';" })).toMatchObject({
    passed: 1,
    failed: 1,
  });
});

it('counts no tests as a failure', async () => {
  expect(await tallyOf({})).toMatchObject({ passed: 0, failed: 1 });
});

it('counts nothing but skipped tests as a failure', async () => {
  expect(await tallyOf({ 'a.check.js': "it.skip('later', () => {});" })).toMatchObject({
    passed: 0,
    failed: 1,
    skipped: 1,
  });
});

it('counts an error outside of any test as a failure', async () => {
  const stray =
    "it('passes', async () => { Promise.reject(new Error('stray')); await new Promise((done) => setTimeout(done, 50)); });";
  expect(await tallyOf({ 'a.check.js': stray })).toEqual({ passed: 1, failed: 1, skipped: 0 });
});

it('counts a worker that dies as a failure', async () => {
  const { failed } = await tallyOf({ 'a.check.js': "it('dies', () => { process.kill(process.pid, 'SIGKILL'); });" });
  expect(failed).toBe(1);
});
