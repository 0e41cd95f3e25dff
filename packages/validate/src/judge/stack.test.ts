import { afterAll, expect, it } from 'vitest';
import { openJudge } from './open.ts';
import { mapStack } from './stack.ts';

/** Line 2 of the bundle is line 3 of src/index.ts; column 10 of it (from 0) is column 4 of line 7 of a dependency. */
const map = JSON.stringify({
  version: 3,
  sources: ['../../src/index.ts', 'node_modules/dep/index.js'],
  names: [],
  mappings: ';AAEA,UCIE',
});

const judge = openJudge({ input: {}, config: {}, output: {} });
afterAll(() => judge.close());

it('maps the frames of the bundle and leaves the others', () => {
  const stack = [
    'Error: at bundle.mjs:x no position',
    '    at handler (file:///glovebox/bundle.mjs:2:1)',
    '    at async bundle.mjs:2:11',
    '    at /glovebox/node.mjs:2:1',
    '    at node:internal/process/task_queues:104:5',
    '    at /glovebox/harness.cjs:2:1',
    '    at new Thing (bundle.mjs:2:5)',
  ].join('\n');
  expect(mapStack(stack, map).split('\n')).toEqual([
    'Error: at bundle.mjs:x no position',
    '    at handler (src/index.ts:3:1)',
    '    at async node_modules/dep/index.js:7:3',
    '    at /glovebox/node.mjs:2:1',
    '    at node:internal/process/task_queues:104:5',
    '    at /glovebox/harness.cjs:2:1',
    '    at new Thing (src/index.ts:3:5)',
  ]);
});

it('leaves a position that the map does not know', () => {
  expect(mapStack('    at f (bundle.mjs:1:1)', map)).toBe('    at f (bundle.mjs:1:1)');
});

it('shows a source by its path in the package, without control characters, cut', () => {
  const hostile = JSON.stringify({
    version: 3,
    sources: [`../../..//./a\u001b[31m b(c)\n/${'x'.repeat(1000)}`],
    names: [],
    mappings: 'AAAA',
  });
  const mapped = mapStack('    at f (bundle.mjs:1:1)', hostile);
  expect(mapped).toMatch(/^ {4}at f \(a_\[31m_b_c__\/x{180,}:1:1\)$/);
  expect(mapped.length).toBeLessThan(240);
});

it('looks at no more than 100 lines, and at none longer than 1000 characters', () => {
  const mapped = mapStack('bundle.mjs:2:1\n'.repeat(200), map);
  expect(mapped.match(/src\/index\.ts:3:1/g)).toHaveLength(100);
  const long = `${'x'.repeat(1000)} bundle.mjs:2:1`;
  expect(mapStack(long, map)).toBe(long);
});

it.each([
  '',
  '{',
  'null',
  '5',
  '[]',
  '{"version":3,"sources":[5],"mappings":"AAAA","names":[]}',
  '{"version":3,"sources":[],"mappings":"!!!","names":[]}',
])('gives the stack back unchanged where the map is %j', async (text) => {
  expect(await judge.mapStack('    at f (bundle.mjs:1:1)', text)).toBe('    at f (bundle.mjs:1:1)');
});

it('maps in the child', async () => {
  expect(await judge.mapStack('at (file:///x/bundle.mjs:2:1)', map)).toBe('at (src/index.ts:3:1)');
});

it('gives a stack over 64 KiB back unchanged', async () => {
  const stack = `${'x\n'.repeat(40_000)}at (bundle.mjs:2:1)`;
  expect(await judge.mapStack(stack, map)).toBe(stack);
});
