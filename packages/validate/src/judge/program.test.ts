import { chownSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../test/kit.ts';
import { judgeProgram, readSources } from './program.ts';

const sources = dirname(import.meta.dirname);
const isRoot = process.getuid?.() === 0;

it('reads the child and all that it imports, and nothing that loads a schema library', () => {
  const paths = [...readSources(sources).keys()].sort();
  expect(paths).toContain('judge/child.ts');
  expect(paths).toContain('judge/stack.ts');
  expect(paths).toContain('schema/check-in-place.ts');
  for (const text of readSources(sources).values()) expect(text).not.toMatch(/^import (?!type ).*'(?:@glovebox|zod)/m);
});

it('keeps the program without its types, complete, under a name of its sources', async () => {
  const root = join(temporaryDirectory(), 'cache/judge');
  const program = await judgeProgram(root);
  expect(dirname(program.directory)).toBe(root);
  expect(basename(program.directory)).toMatch(/^[0-9a-f]{32}$/);
  for (const path of readSources(sources).keys()) {
    const text = readFileSync(join(program.directory, path.replace(/\.ts$/, '.js')), 'utf8');
    expect(text).not.toMatch(/\.ts'|^import type|^export (?:interface|type) /m);
  }
  expect(readdirSync(root)).toEqual([basename(program.directory)]);
});

it('makes it once, also when several ask at the same time', async () => {
  const root = join(temporaryDirectory(), 'judge');
  const programs = await Promise.all([judgeProgram(root), judgeProgram(root), judgeProgram(root)]);
  expect(new Set(programs.map(({ directory }) => directory)).size).toBe(1);
  const made = statSync(programs[0]?.directory ?? '').mtimeMs;
  expect((await judgeProgram(root)).directory).toBe(programs[0]?.directory);
  expect([statSync(programs[0]?.directory ?? '').mtimeMs, readdirSync(root).length]).toEqual([made, 1]);
});

it('runs the sources as they are where nothing can be kept', async () => {
  const asItIs = { entry: join(sources, 'judge/child.ts'), directory: sources };
  expect(await judgeProgram('/proc/nowhere/judge')).toEqual(asItIs);
});

it.runIf(isRoot)('leaves the clone of another user alone', async () => {
  const dir = temporaryDirectory();
  chownSync(dir, 12345, 12345);
  expect((await judgeProgram(join(dir, 'judge'))).directory).toBe(sources);
  expect(readdirSync(dir)).toEqual([]);
});
