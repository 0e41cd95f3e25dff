import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { GloveboxError, type Json } from '@glovebox/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { JudgeChild } from './child-process.ts';
import { openJudge } from './open.ts';
import type { ValueJudge } from './port.ts';

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

function judgeOf(schemas: { input?: Json; config?: Json; output?: Json }): ValueJudge {
  const judge = openJudge({ input: {}, config: {}, output: {}, ...schemas });
  open.push(judge);
  return judge;
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (GloveboxError.is(error) ? error.code : String(error)),
  );

/** Judges' children of a process, by pid. */
function childrenOf(parent: number): number[] {
  const pids: number[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(ppid) !== parent || state === 'Z') continue;
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('judge/child')) pids.push(Number(name));
    } catch {
      // It ended meanwhile.
    }
  }
  return pids;
}

function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !condition(); i++) await sleep(50);
  expect(condition()).toBe(true);
}

describe('a judge', { timeout: 120_000 }, () => {
  it('finds what does not fit, with the code of the value that it is', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } } } as Json;
    const judge = judgeOf({ input: schema, config: schema, output: schema });
    expect(await judge.checkSchemas()).toEqual([]);
    const findings = await Promise.all(
      (['input', 'config', 'output'] as const).map((which) => judge.check(which, '{"n":"x"}')),
    );
    expect(findings.flat()).toMatchObject([
      {
        rule: 'INPUT_INVALID',
        severity: 'error',
        place: { path: '/n' },
        message: 'input/n: must be number, but is "x"',
      },
      { rule: 'CONFIG_VALUE_INVALID', place: { path: '/n' } },
      { rule: 'OUTPUT_INVALID', place: { path: '/n' }, hint: 'So says output/properties/n/type in node.json.' },
    ]);
    expect(await judge.check('input', '{"n":1}')).toEqual([]);
  });

  it('tells schemas that are refused, by their place in node.json, and judges nothing by them', async () => {
    const judge = judgeOf({ config: { properties: { a: { typ: 1 } } }, output: { pattern: '(?=x)' } });
    const places = ['/config/properties/a/typ', '/output/pattern'];
    expect((await judge.checkSchemas()).map(({ place }) => place)).toEqual(
      places.map((path) => ({ file: 'node.json', path })),
    );
    expect(await judge.check('output', '1')).toMatchObject([{ rule: 'SCHEMA_UNSUPPORTED' }]);
    expect(await judge.check('input', '1')).toEqual([]);
  });

  it.each([
    ['{', 'INPUT_NOT_JSON', 'OUTPUT_NOT_JSON'],
    ['', 'INPUT_NOT_JSON', 'OUTPUT_NOT_JSON'],
    ['NaN', 'INPUT_NOT_JSON', 'OUTPUT_NOT_JSON'],
    ['{"a":1,"a":2}', 'INPUT_INVALID', 'OUTPUT_INVALID'],
    ['9007199254740993', 'INPUT_INVALID', 'OUTPUT_INVALID'],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'INPUT_INVALID', 'OUTPUT_INVALID'],
    [`"${'x'.repeat(16 * 1024 * 1024)}"`, 'INPUT_INVALID', 'OUTPUT_INVALID'],
  ])('refuses the text %.20j, whatever the schema allows', async (text, input, output) => {
    const judge = judgeOf({});
    expect(await judge.check('input', text)).toMatchObject([{ rule: input }]);
    expect(await judge.check('output', text)).toMatchObject([{ rule: output }]);
    expect(await judge.check('output', '[[1]]')).toEqual([]);
  });

  it('answers in order, however many ask at once', async () => {
    const judge = judgeOf({ input: { type: 'number' } });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => judge.check('input', i % 2 ? '"x"' : '1')));
    expect(answers.map((findings) => findings.length)).toEqual(Array.from({ length: 50 }, (_, i) => i % 2));
  });

  it('stays linear where backtracking would take for ever', async () => {
    const judge = judgeOf({ input: { pattern: '^(a+)+$' }, output: { format: 'email' } });
    expect(await judge.check('input', `"${'a'.repeat(28)}!"`)).toHaveLength(1);
    expect(await judge.check('input', `"${'a'.repeat(28)}"`)).toEqual([]);
    expect(await judge.check('output', `"${'a'.repeat(27)}@!"`)).toHaveLength(1);
  });

  it('keeps own __proto__ as data', async () => {
    const judge = judgeOf({
      output: JSON.parse('{"properties":{"__proto__":{"type":"number"}},"required":["__proto__"]}') as Json,
    });
    expect(await judge.check('output', '{"__proto__":1}')).toEqual([]);
    expect(await judge.check('output', '{"__proto__":{"polluted":1}}')).toHaveLength(1);
    expect(await judge.check('output', '{}')).toHaveLength(1);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('a judge under attack', { timeout: 300_000 }, () => {
  it('ends a bomb of references with a typed error, and goes on', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `a${i}`,
        i === 39 ? {} : { allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] },
      ]),
    );
    const judge = judgeOf({ input: { $defs, $ref: '#/$defs/a0' } as Json });
    expect(await codeOf(judge.check('input', '1'))).toBe('SCHEMA_TOO_COSTLY');
    expect(await judge.check('output', '1')).toEqual([]);
  });

  it('tells a schema that is too deep or too large, even where it cannot be written down', async () => {
    let deep: Json = {};
    for (let i = 0; i < 50_000; i++) deep = { not: deep };
    const judge = judgeOf({ input: deep, output: { title: 'x'.repeat(70_000) } });
    expect(await judge.checkSchemas()).toMatchObject([
      { rule: 'SCHEMA_TOO_COSTLY', place: { path: '/input' } },
      { rule: 'SCHEMA_TOO_COSTLY', place: { path: '/output' } },
    ]);
  });

  it('compares 200,000 elements', async () => {
    const items = Array.from({ length: 200_000 }, (_, i) => (i % 2 ? `{"i":${i}}` : String(i)));
    const judge = judgeOf({ input: { uniqueItems: true } });
    expect(await judge.check('input', `[${items.join()}]`)).toEqual([]);
    expect(await judge.check('input', `[${items.join()},{"i":1}]`)).toHaveLength(1);
  });

  const control = (length: number): string => '\u0001'.repeat(length);
  const named = (...names: string[]): string => JSON.stringify(Object.fromEntries(names.map((name) => [name, 'x'])));
  const numbers = { additionalProperties: { type: 'number' } } as Json;
  it.each<[string, Json, string, number]>([
    ['a name of 20,000 characters', numbers, named('n'.repeat(20_000)), 1],
    ['a name of megabytes', numbers, named('n'.repeat(10_000_000)), 1],
    [
      'twenty names of 16,000 control characters',
      numbers,
      named(...'abcdefghijklmnopqrst'.split('').map((c) => c + control(16_000))),
      20,
    ],
    ['a path of 4,000 characters under anyOf', { anyOf: [numbers] }, named('n'.repeat(4000)), 1],
    ['anyOf in anyOf', { anyOf: [{ anyOf: [{ anyOf: [numbers] }] }] }, named('n'.repeat(1500)), 1],
    [
      'an enum of control characters',
      { enum: Array.from('abcdefgh', (c) => c + control(59)) },
      JSON.stringify(control(60)),
      1,
    ],
    ['a member twice below a long name', {}, `{"${'n'.repeat(20_000)}":{"a":1,"a":2}}`, 1],
  ])('tells of %s, at a place that is there', async (_, schema, text, count) => {
    const judge = judgeOf({ input: schema });
    const findings = await judge.check('input', text);
    expect(findings.map(({ rule }) => rule)).toEqual(Array(count).fill('INPUT_INVALID'));
    for (const { place, message } of findings) {
      expect(message.length).toBeLessThan(8000);
      const names = (place.path ?? '').split('/').slice(1);
      expect(
        names.reduce<Json | undefined>((value, name) => (value as Record<string, Json>)[name], JSON.parse(text)),
      ).toBeDefined();
    }
    expect(await judge.check('output', '1')).toEqual([]);
  });

  it.each([
    ['too long to tell', 9000, '/properties'],
    ['too long to be told all', 2000, `/properties/${control(2000)}`],
  ])('tells of schemas whose places are %s', async (_, length, path) => {
    const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, 1]));
    const schema = { properties: { [control(length)]: unknown } };
    const judge = judgeOf({ input: schema, config: schema, output: schema });
    const told = (await judge.checkSchemas()).map(({ rule, place }) => `${rule} ${place.path}`.replace(/\/k\d+$/, ''));
    expect(new Set(told)).toEqual(
      new Set(['input', 'config', 'output'].map((which) => `SCHEMA_UNSUPPORTED /${which}${path}`)),
    );
    expect(told.length).toBeGreaterThan(30);
  });

  it('dies typed of a value that fills its memory, and the next judge works', async () => {
    const judge = judgeOf({});
    const hog = `[${'[],'.repeat(5_500_000)}[]]`;
    expect(await codeOf(judge.check('input', hog))).toBe('SCHEMA_TOO_COSTLY');
    expect(await codeOf(judge.check('input', '1'))).toBe('SCHEMA_TOO_COSTLY');
    expect(await judgeOf({}).check('input', '[[]]')).toEqual([]);
  });

  it('is killed when it does not answer in time', async () => {
    const child = new JudgeChild();
    open.push(child);
    const sizes = { input: 2, config: 2, output: 2 };
    expect((await child.call({ op: 'load', sizes }, Buffer.from('{}{}{}'))).answer).toMatchObject({ kind: 'loaded' });
    const [pid = 0] = childrenOf(process.pid);
    process.kill(pid, 'SIGSTOP');
    expect(await codeOf(child.call({ op: 'check', which: 'input' }, Buffer.from('1'), 100))).toBe('SCHEMA_TOO_COSTLY');
    await until(() => !isAlive(pid));
  });

  it('fails typed what is asked of one that was killed, then and after', async () => {
    const judge = judgeOf({});
    await judge.checkSchemas();
    const [pid = 0] = childrenOf(process.pid);
    process.kill(pid, 'SIGSTOP');
    const asked = [judge.check('input', '1'), judge.check('input', '2')].map(codeOf);
    process.kill(pid, 'SIGKILL');
    expect(await Promise.all(asked)).toEqual(['SCHEMA_TOO_COSTLY', 'SCHEMA_TOO_COSTLY']);
    expect(await codeOf(judge.check('input', '1'))).toBe('SCHEMA_TOO_COSTLY');
    expect(await judge.mapStack('stack', '{}')).toBe('stack');
  });
});

describe('the child', { timeout: 120_000 }, () => {
  it('has no environment, no code generation, a memory limit, few files to read and no descriptors of its parent', async () => {
    const judge = judgeOf({});
    await judge.checkSchemas();
    const [pid = 0] = childrenOf(process.pid);
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toBe('');
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    const flags = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((flag) => flag.startsWith('--'));
    expect(flags.map((flag) => flag.replace(/=\/.*/, '=…'))).toEqual([
      '--max-old-space-size=128',
      '--max-semi-space-size=8',
      '--disallow-code-generation-from-strings',
      '--permission',
      '--allow-fs-read=…',
      '--allow-fs-read=…',
      '--no-experimental-ffi',
      '--disable-warning=ExperimentalWarning',
    ]);
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    for (const limit of [/core file size +0 +0 /, /file size +0 +0 /, /cpu time +120 +120 /])
      expect(limits).toMatch(limit);
    const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    expect(targets.filter((target) => !/^(?:socket:|pipe:|anon_inode:|\/dev\/(?:null|u?random))/.test(target))).toEqual(
      [],
    );
  });

  it('is gone when the judge was closed, which may be done twice and at any time', async () => {
    const judge = judgeOf({});
    await judge.checkSchemas();
    const [pid = 0] = childrenOf(process.pid);
    expect(isAlive(pid)).toBe(true);
    const asked = codeOf(judge.check('input', '1'));
    judge.close();
    judge.close();
    expect(await asked).toBe('CANCELLED');
    expect(await codeOf(judge.check('input', '1'))).toBe('CANCELLED');
    await until(() => !isAlive(pid));
    const early = judgeOf({});
    early.close();
    expect(await codeOf(early.checkSchemas())).toBe('CANCELLED');
    await until(() => childrenOf(process.pid).length === 0);
  });

  const program = `
    import { openJudge } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)};
    const judge = openJudge({ input: {}, config: {}, output: {} });
    await judge.checkSchemas();
    console.log('ready');`;
  const run = (more: string) =>
    spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', program + more],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {},
      },
    );

  it('does not keep its parent from ending, and ends with it', async () => {
    const parent = run('');
    await new Promise((resolve) => parent.stdout.once('data', resolve));
    expect(await new Promise((resolve) => parent.once('exit', resolve))).toBe(0);
    await until(() => childrenOf(parent.pid ?? 0).length === 0);
  });

  it('ends when its parent is killed, idle or at work', async () => {
    for (const more of [
      ' setInterval(() => {}, 1000);',
      " judge.check('input', '[' + '[],'.repeat(1000000) + '1]'); setInterval(() => {}, 1000);",
    ]) {
      const parent = run(more);
      await new Promise((resolve) => parent.stdout.once('data', resolve));
      const children = childrenOf(parent.pid ?? 0);
      expect(children).toHaveLength(1);
      parent.kill('SIGKILL');
      await until(() => !children.some(isAlive));
    }
  });
});
