import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cellCommand, cellPaths, planRunCell } from '@glovebox/cell';
import { type Digest, manifestSchema, runLimits } from '@glovebox/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Precompiled, precompile } from './code-cache.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'code-cache-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const program = Buffer.from(`class Greeter { greet(name) { return ['hello', name].join(' '); } }
const lazy = () => new Greeter().greet(typeof require);
import('node:os').then(({ EOL }) => process.stdout.write(lazy() + EOL));`);

/** Node.js with the flags of a cell, and the paths of a cell led to `dir`. */
function start(made: Precompiled, memory: string): string {
  writeFileSync(join(dir, 'harness.js'), made.script);
  writeFileSync(join(dir, 'harness.code'), made.code);
  const asked = `if (script.cachedDataRejected !== undefined) process.stdout.write(script.cachedDataRejected ? 'refused ' : 'taken ');\n`;
  const text = Buffer.from(made.loader)
    .toString()
    .replaceAll(JSON.stringify(cellPaths.harnessScript), JSON.stringify(join(dir, 'harness.js')))
    .replaceAll(JSON.stringify(cellPaths.harnessCode), JSON.stringify(join(dir, 'harness.code')))
    .replace('script.runInThisContext', `${asked}script.runInThisContext`);
  writeFileSync(join(dir, 'harness.cjs'), text);
  const limits = runLimits(
    manifestSchema.parse({ schemaVersion: 1, id: 'abc', title: 'x', input: {}, output: {}, resources: { memory } }),
  );
  const [, ...args] = cellCommand(planRunCell(`sha256:${'0'.repeat(64)}` as Digest, limits, 'ns')).map((arg) =>
    arg.replace('/glovebox/', `${dir}/`),
  );
  return execFileSync(process.execPath, args, { env: {}, encoding: 'utf8' }).trim();
}

it('gives bytecode that the loader takes under the flags of every cell', async () => {
  const made = await precompile(program, process.versions.node, dir);
  expect(made.code.length).toBeGreaterThan(0);
  expect(start(made, '64MiB')).toBe('taken hello function');
  expect(start(made, '2048MiB')).toBe('taken hello function');
});

it('gives the same bytes every time', async () => {
  const first = await precompile(program, process.versions.node, dir);
  const second = await precompile(program, process.versions.node, dir);
  expect(Buffer.from(second.code).equals(first.code)).toBe(true);
});

it('makes none for another Node.js, and the script then runs all the same', async () => {
  const made = await precompile(program, '1.2.3', dir);
  expect(made.code).toHaveLength(0);
  expect(start(made, '64MiB')).toMatch(/hello function$/);
});

it('runs the script that is there, and not the bytecode of another', async () => {
  const made = await precompile(program, process.versions.node, dir);
  const other = Buffer.from(Buffer.from(made.script).toString().replace('hello', 'good morning'));
  expect(start({ ...made, script: other }, '64MiB')).toBe('refused good morning function');
  expect(readFileSync(join(dir, 'harness.js')).equals(other)).toBe(true);
});

it('refuses a program that is not all ASCII', async () => {
  await expect(precompile(Buffer.from('const é = 1;'), process.versions.node, dir)).rejects.toMatchObject({
    code: 'IMAGE_BUILD_FAILED',
  });
});
