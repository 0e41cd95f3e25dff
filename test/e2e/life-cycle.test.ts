import { publishRelease, putDraft, showRelease, verifyRun } from '@glovebox/engine';
import { expect, it } from 'vitest';
import { runReference } from '../support/releases.ts';
import { useEngine } from '../support/use-engine.ts';
import { actor, goodPackage, validateFiles } from '../support/validation.ts';

const cells = useEngine();

/** The version of a package that adds, with this much on top of each sum. */
const adding = (version: string, more: number, files: Parameters<typeof goodPackage>[0] = {}) =>
  goodPackage({
    'package.json': JSON.stringify({ name: 'adder', version, license: 'Apache-2.0', type: 'module' }),
    'src/add.ts': `export const add = (a: number, b: number): number => a + b + ${more};\n`,
    'test/add.test.ts': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add } from '../src/add.ts';
test('adds', () => { assert.equal(add(1, 2), ${3 + more}); });
`,
    'fixtures/basic.json': JSON.stringify({ input: { a: 1, b: 2 }, expect: { output: { sum: 3 + more } } }),
    ...files,
  });

it('a node goes from a draft that is refused to releases that run by reference, each what it was when it was released', async () => {
  const { engine } = cells();
  const publish = () => publishRelease(engine, { project: 'default', id: 'adder', actor });
  const sumOf = async (reference: string) => {
    const { output, run } = await runReference(engine, reference, { inputText: '{"a":1,"b":2}' });
    await verifyRun(engine, 'default', run, engine.keys);
    return (output as { sum: number }).sum;
  };

  await putDraft(engine, { project: 'default', actor, files: adding('1.0.0', 0) });
  await expect(publish()).rejects.toMatchObject({ code: 'NOT_VALIDATED' });

  const wrong = adding('1.0.0', 0, { 'src/add.ts': 'export const add = (a: number, b: number): number => a - b;\n' });
  const failed = await validateFiles(engine, wrong);
  expect([failed.draft.state, failed.artifact]).toEqual(['failed', null]);
  await expect(publish()).rejects.toMatchObject({ code: 'NOT_VALIDATED' });
  expect(await engine.releases.list({ project: 'default', limit: 1 })).toEqual([]);

  const passed = await validateFiles(engine, adding('1.0.0', 0));
  const one = await publish();
  expect(one).toMatchObject({ created: true, release: { ref: 'default/adder@1.0.0', digest: passed.artifact } });
  expect(await sumOf('adder')).toBe(3);
  const { content } = await showRelease(engine, { project: 'default', reference: 'adder@1.0.0' });
  expect(content?.report.checks.map(({ id, state }) => `${id} ${state}`)).toEqual(
    ['package', 'manifest', 'lockfile', 'types', 'build', 'tests', 'fixtures'].map((id) => `${id} passed`),
  );

  // The same version with another content is refused at the door, and what is there stays as it is.
  await expect(putDraft(engine, { project: 'default', actor, files: adding('1.0.0', 1) })).rejects.toMatchObject({
    code: 'VERSION_EXISTS',
  });
  expect(await publish()).toEqual({ ...one, created: false });

  await validateFiles(engine, adding('1.1.0', 10));
  await publish();
  expect([await sumOf('adder'), await sumOf('adder@1.0.0'), await sumOf(`adder@${one.release.digest}`)]).toEqual([
    13, 3, 3,
  ]);
});
