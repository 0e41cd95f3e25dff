import { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import type { RunOptions } from '../support/engine.ts';
import type { NodeSource } from '../support/node-package.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

const person = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1 }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
  additionalProperties: false,
};
const unit = { type: 'object', properties: { unit: { enum: ['m', 'ft'] } }, required: ['unit'] };
const node: NodeSource = {
  body: 'return [ctx.input.name, ctx.config.unit]',
  manifest: { input: person, config: unit, output: { type: 'array' } },
};
const fine = { input: { name: 'Ada' }, config: { unit: 'm' } };

/** What it was refused with; fails when a run cell was booted or a run was recorded. */
async function refusal(source: NodeSource, options: RunOptions): Promise<GloveboxError> {
  const { boots, engine } = cells();
  const before = { boots: boots.length, runs: (await engine.store.list({ project: 'default', limit: 1000 })).length };
  const error: unknown = await cells()
    .run(source, options)
    .catch((thrown: unknown) => thrown);
  if (!GloveboxError.is(error)) throw new Error('it ran');
  expect(boots.slice(before.boots)).not.toContain('run');
  expect(await engine.store.list({ project: 'default', limit: 1000 })).toHaveLength(before.runs);
  return error;
}

describe('before any cell of a run boots', () => {
  it('an input that does not match its schema is refused, with its place', async () => {
    const cases: [unknown, string][] = [
      [{}, ''],
      [{ name: '' }, '/name'],
      [{ name: 'Ada', age: -1 }, '/age'],
      [{ name: 'Ada', age: 1.5 }, '/age'],
      [{ name: 'Ada', extra: 1 }, '/extra'],
      [{ name: 7 }, '/name'],
      ['text', ''],
      [null, ''],
      [[], ''],
    ];
    for (const [input, path] of cases) {
      const error = await refusal(node, { ...fine, input, inputText: JSON.stringify(input) });
      expect([input, error.code, error.place?.path]).toEqual([input, 'INPUT_INVALID', path]);
    }
  });

  it('all that is wrong with it is told at once', async () => {
    const { details } = await refusal(node, { ...fine, input: { age: 'x', extra: 1 } });
    expect((details as unknown as { findings: unknown[] }).findings.length).toBeGreaterThanOrEqual(3);
  });

  it('a config that does not match its schema is refused', async () => {
    for (const config of [{}, { unit: 'mile' }, { unit: null }, []])
      expect((await refusal(node, { ...fine, config })).code).toBe('CONFIG_VALUE_INVALID');
  });

  it('a required property that every object inherits counts as missing', async () => {
    const inherits: NodeSource = {
      body: 'return 1',
      manifest: { input: { type: 'object', required: ['toString', 'constructor', '__proto__'] } },
    };
    expect((await refusal(inherits, { input: {} })).code).toBe('INPUT_INVALID');
    const own = '{"toString":1,"constructor":2,"__proto__":3}';
    expect((await cells().run(inherits, { inputText: own })).state).toBe('SUCCEEDED');
  });

  it('what is no JSON is refused', async () => {
    for (const inputText of ['', '{', '{a:1}', "{'a':1}", 'undefined', '{"a":1,}', 'NaN', '01', '"\t"'])
      expect([inputText, (await refusal(node, { inputText })).code]).toEqual([inputText, 'INPUT_NOT_JSON']);
  });

  it('a package that is not valid, and one that cannot be bundled, are refused', async () => {
    expect((await refusal({ ...node, manifest: { surprise: 1 } }, fine)).code).toBe('PACKAGE_INVALID');
    expect((await refusal({ ...node, body: 'return (' }, fine)).code).toBe('BUILD_FAILED');
    expect((await refusal({ ...node, manifest: { input: { $ref: 'https://x.example/' } } }, fine)).code).toBe(
      'PACKAGE_INVALID',
    );
  });

  it('a run that was cancelled before is refused', async () => {
    expect(
      (await refusal({ ...node, id: 'never-built' }, { ...fine, signal: AbortSignal.abort('too late') })).code,
    ).toMatch(/^(INTERRUPTED|CANCELLED)$/);
  });
});

describe('with input and config that match', () => {
  it('one builder cell and one run cell boot, and for the same package again only a run cell', async () => {
    const { boots } = cells();
    const before = boots.length;
    const source = { ...node, id: 'counted-node' };
    expect((await cells().run(source, fine)).output).toEqual(['Ada', 'm']);
    expect((await cells().run(source, { ...fine, input: { name: 'Grace' } })).output).toEqual(['Grace', 'm']);
    expect(boots.slice(before)).toEqual(['bundle', 'run', 'run']);
  });

  it('an output that does not match its schema is refused, and is no output', async () => {
    const wrong = { ...node, body: 'return { not: "an array" }' };
    const result = await cells().run(wrong, fine);
    expect(result).toMatchObject({ state: 'FAILED', error: { code: 'OUTPUT_INVALID' }, output: null });
    const stored = await cells().engine.store.get('default', result.run);
    expect(stored?.attempts.at(-1)?.end?.outputText).toBeNull();
  });
});
