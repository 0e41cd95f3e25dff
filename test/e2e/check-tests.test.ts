import { describe, expect, it } from 'vitest';
import { forger } from '../support/forger.ts';
import { packageTgz } from '../support/tar-writer.ts';
import { seen, useChecks } from '../support/use-checks.ts';

const checks = useChecks();

const top = `import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, it, test } from 'node:test';
`;
const file = (body: string) => ({ 'test/a.test.ts': top + body });
const fine = "test('is fine', () => {});\n";
const failing = "test('is wrong', () => assert.equal(1, 2));\n";
const rules = ({ findings }: { findings: { rule: string }[] }) => findings.map(({ rule }) => rule);
const facts = (tests: number, passed = tests, skipped = 0) => ({ selfReported: true, tests, passed, skipped });
const passed = (tests: number) => ({ state: 'passed', findings: [], facts: facts(tests) });

describe('tests that pass', () => {
  it('pass with packages, suites, hooks, mocks and the testing kit, and are counted', async () => {
    const outcome = await checks().tests(
      {
        'src/index.ts': `import { defineNode } from '@glovebox/sdk';
import { add } from 'dep';
export default defineNode<{ n: number }, object, { n: number }>((ctx) => ({ n: add(ctx.input.n, 1) }));
`,
        'fixtures/basic.json': '{"n":41}',
        'test/a.test.ts': `${top}
import { mock } from 'node:test';
import { NodeError } from '@glovebox/sdk';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';
import { helper } from './helper.ts';
let ready = false;
before(() => { ready = true; });
test('runs the node', async () => {
  const input = JSON.parse(fs.readFileSync(new URL('../fixtures/basic.json', import.meta.url), 'utf8'));
  assert.deepEqual(JSON.parse(fs.readFileSync('fixtures/basic.json', 'utf8')), input);
  const result = await runNode(node, { input });
  assert.ok(result.ok);
  assert.deepEqual(result.output, { n: 42 });
  assert.ok(NodeError.is(new NodeError('X', 'y'), 'X'));
});
describe('a suite', () => {
  it('has a test', () => assert.ok(ready));
  it('is skipped', { skip: true }, () => assert.fail());
  it('is to be done', { todo: true }, () => assert.fail());
  describe('and one in it', () => it('has one too', (t) => t.test('and another', () => helper(assert))));
});
test('sets the time', () => {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 5 });
  assert.equal(Date.now(), 5);
  assert.equal(new Date().getTime(), 5);
  mock.timers.reset();
  assert.ok(Date.now() > 1e12 && new Date() instanceof Date && new (class extends Date {})().getTime() > 1e12);
});
`,
        'test/helper.ts': 'export const helper = (assert: { ok(value: unknown): void }): void => assert.ok(1);\n',
        'test/deep/b.test.ts': `${top}import { twice } from 'dev';\ntest('has a package for development', () => assert.equal(twice(2), 4));\n`,
      },
      {
        'node_modules/dep': { bytes: packageTgz('dep', '1.0.0', { 'index.js': 'exports.add = (a, b) => a + b;' }) },
        'node_modules/dev': {
          bytes: packageTgz('dev', '1.0.0', { 'index.js': 'exports.twice = (a) => a * 2;' }),
          development: true,
        },
        'node_modules/native': { bytes: packageTgz('native', '1.0.0', { 'a.node': '' }), development: true },
      },
    );
    expect(outcome).toEqual({ state: 'passed', findings: [], facts: facts(8, 6, 2) });
  });

  it('pass whatever they print, and are not printed for', async () => {
    const prints = `console.log('not ok 1 - x\\n# fail 1'); console.error('Error'); process.stdout.write('TAP version 13'); fs.writeSync(1, 'Bail out!');`;
    expect(await checks().tests(file(`${prints}\n${fine}`))).toEqual(passed(1));
  });

  it('pass when they expect what a cell refuses', async () => {
    expect(
      await checks().tests(
        file(`
test('no network', async () => {
  await assert.rejects(fetch('http://127.0.0.1'));
  const { connect } = await import('node:net');
  const error = await new Promise<any>((resolve) => void connect(80, '127.0.0.1').on('error', resolve));
  assert.equal(error.code, 'ERR_ACCESS_DENIED');
});
test('no rights', async () => {
  assert.notEqual(process.getuid?.(), 0);
  assert.throws(() => process.setuid?.(0));
  assert.throws(() => fs.writeFileSync('/etc/x', ''), { code: 'ERR_ACCESS_DENIED' });
  const { spawnSync } = await import('node:child_process');
  assert.throws(() => spawnSync('/usr/bin/node'), { code: 'ERR_ACCESS_DENIED' });
});`),
      ),
    ).toEqual(passed(2));
  });
});

describe('tests that fail', () => {
  it('are told with name and place, all at once', async () => {
    const outcome = await checks().tests({
      'test/a.test.ts': `${top}
test('is wrong', () => assert.equal(1, 2));
describe('a suite', () => {
  it('throws a text', () => { throw 'just text'; });
});
describe('another', () => {
  before(() => { throw new Error('no luck'); });
  it('does not come to it', () => {});
});
test('has a wrong one in it', async (t) => { await t.test('this one', () => { throw new TypeError('inside'); }); });
test('is fine', () => {});
`,
      'test/b.test.ts': "import './missing.ts';\n",
    });
    expect(outcome).toMatchObject({ state: 'failed', facts: facts(8, 1) });
    expect(
      seen(outcome)
        .map(([rule, path, line, message]) => [rule, path, line, String(message).split('\n')[0]])
        .sort((a, b) => Number(a[2]) - Number(b[2])),
    ).toEqual([
      ['TESTS_FAILED', 'test/b.test.ts', 1, expect.stringContaining("Cannot find module 'test/missing.ts'")],
      ['TESTS_FAILED', 'test/a.test.ts', 5, '"is wrong": AssertionError: Expected values to be strictly equal:'],
      ['TESTS_FAILED', 'test/a.test.ts', 7, '"a suite > throws a text": just text'],
      ['TESTS_FAILED', 'test/a.test.ts', 9, expect.stringContaining('"another": no luck')],
      ['TESTS_FAILED', 'test/a.test.ts', 11, expect.stringContaining('"another > does not come to it": ')],
      ['TESTS_FAILED', 'test/a.test.ts', 13, '"has a wrong one in it > this one": TypeError: inside'],
    ]);
  });

  it.each([
    ['a test', "test('waits', () => new Promise(() => {}));", '"waits"'],
    ['a test in a suite', "describe('s', () => it('waits', () => new Promise(() => {})));", '"s > waits"'],
    ['a test in a test', "test('t', (t) => t.test('waits', () => new Promise(() => {})));", '"t > waits"'],
  ])('are told, and not waited for, where %s waits for what can never happen', async (_, body, name) => {
    const outcome = await checks().tests(file(`${fine}${body}\n${fine}`));
    expect(seen(outcome)).toEqual([
      ['TESTS_FAILED', 'test/a.test.ts', 5, `${name}: It waits for something that can never happen.`],
    ]);
  });

  it('are told where a file never gets through its top', async () => {
    const waits = { 'test/b.test.ts': 'await new Promise(() => {});\n' };
    expect(rules(await checks().tests({ ...file(fine), ...waits }))).toContain('TESTS_FAILED');
    expect((await checks().tests(waits)).state).toBe('failed');
  });

  it('fail as well by an error after their end', async () => {
    const outcome = await checks().tests(
      file(
        "test('leaves something', () => void setTimeout(() => { throw new Error('too late'); }, 10));\ntest('waits', () => new Promise((r) => setTimeout(r, 100)));",
      ),
    );
    expect(seen(outcome)).toEqual([['TESTS_FAILED', 'test', undefined, expect.stringContaining('too late')]]);
  });

  it('are those that need what a cell has not: network, root, files of the host, processes', async () => {
    const outcome = await checks().tests(
      file(`
test('asks', async () => { await fetch('http://example.com'); });
test('is root', () => assert.equal(process.getuid?.(), 0));
test('reads', () => { fs.readFileSync('/etc/shadow'); });
test('spawns', async () => { (await import('node:child_process')).execFileSync('/usr/bin/node', ['-v']); });
`),
    );
    expect(seen(outcome).map(([rule, , line]) => [rule, line])).toEqual(
      [5, 6, 7, 8].map((line) => ['TESTS_FAILED', line]),
    );
  });
});

describe('what tests are called and throw', () => {
  it('is told whatever it is, fit to show', async () => {
    const outcome = await checks().tests(
      file(`
const thrown: Record<string, unknown> = {
  'null': null, 'undefined': undefined, 'a symbol': Symbol('x'), 'a number': 7, 'nothing': {},
  ['__proto__']: new Error('own'), 'with \\u001b[2J and \\ud800': new Error('\\u001b[2J\\ud800'),
  'a cause without end': Object.assign(new Error('x'), { get cause() { return this; } }),
  'a long one': new Error('y'.repeat(1e6)),
};
for (const [name, error] of Object.entries(thrown)) test(name, () => { throw error; });
test('z'.repeat(1e5), () => { throw new Error(''); });
`),
    );
    expect(outcome.facts).toEqual(facts(10, 0));
    expect(rules(outcome)).toEqual(Array(10).fill('TESTS_FAILED'));
    for (const { message } of outcome.findings) {
      expect(message.length).toBeLessThan(2000);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there.
      expect(message).not.toMatch(/[\u0000-\u0009\u000b-\u001f]|\p{Surrogate}/u);
    }
  });

  it('is a failure even where the runner itself stumbles over it', async () => {
    const trap = 'new Proxy({}, { get() { throw 1; }, has() { throw 1; }, getPrototypeOf() { throw 1; } })';
    expect(rules(await checks().tests(file(`${fine}test('throws', () => { throw ${trap}; });`)))).toEqual([
      'TESTS_FAILED',
    ]);
  });

  it('is told of so many that fit, and the rest is no pass', async () => {
    const outcome = await checks().tests(file("for (let i = 0; i < 10_010; i++) test('x', () => {});"));
    expect(seen(outcome)).toEqual([
      ['TESTS_FAILED', 'test', undefined, 'There are 10 tests more than can be told of.'],
    ]);
    expect(outcome.facts).toEqual(facts(10_000));
  });
});

describe('no test', () => {
  it.each([
    ['no file', {}],
    ['no file of that name', { 'test/index.ts': fine, 'src/a.test.ts': fine, 'test/a.test.js': fine }],
    ['a file without one', { 'test/a.test.ts': 'export {};\nconsole.log("# pass 5");\n' }],
    [
      'skipped ones alone',
      file("test('later', { skip: true }, () => {});\ndescribe.skip('too', () => it('x', () => {}));"),
    ],
  ])('is told where there is %s', async (_, files) => {
    expect(rules(await checks().tests(files))).toEqual(['TESTS_MISSING']);
  });
});

describe('tests that do not end', () => {
  it.each([
    ['loop', "test('loops', () => { for (;;); });"],
    ['wait', "test('waits', () => new Promise(() => void setInterval(() => {}, 1000)));"],
  ])('but %s are killed', async (_, body) => {
    const outcome = await checks().tests(file(`console.log('begun');\n${body}`), {}, { deadlineMs: 2500 });
    expect(rules(outcome)).toEqual(['TESTS_TIMED_OUT']);
    expect(outcome.findings[0]?.message).toContain('begun');
    expect(checks().ends.slice(-2)).toMatchObject([{ cause: 'deadline' }, { cause: 'deadline' }]);
  });

  it('are not blamed for a cell that has not come to them in its time', async () => {
    await expect(checks().tests(file(fine), {}, { deadlineMs: 1 })).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });
  });
});

describe('a test process that breaks off', () => {
  it.each([
    ['exits', "test('exits', () => process.exit(0));"],
    ['exits while it loads', 'process.exit(0);'],
    ['exits past every listener', "test('exits', () => process.reallyExit(0));"],
    ['aborts', "test('aborts', () => process.abort());"],
    ['takes all memory', "test('eats', () => { const all = []; for (;;) all.push(Buffer.alloc(1 << 24, 1)); });"],
    [
      'prints without end',
      "test('floods', () => { for (;;) try { fs.writeSync(1, Buffer.alloc(65536, 120)); } catch {} });",
    ],
  ])('is told when it %s', async (_, body) => {
    const outcome = await checks().tests(file(`${fine}${body}`));
    expect(rules(outcome)).toEqual(['TESTS_BROKEN_OFF']);
  });

  const begun = `const told = (...frames) => {
  send(frame(2, 20001, Buffer.from(JSON.stringify(['POST', 'http://control.invalid/test-result']))));
  send(Buffer.concat([frame(4, 20001, Buffer.from('{"nonce"')), ...frames]));
};
`;
  it.each([
    ['exits', 'TESTS_BROKEN_OFF', 'told(); process.reallyExit(0);'],
    ['takes back what it began to tell', 'TESTS_BROKEN_OFF', "told(frame(6, 20001, Buffer.from('x'))); for (;;);"],
    ['loops', 'TESTS_TIMED_OUT', 'told(); for (;;);'],
  ])('in the middle of a result is told when it %s', async (_, rule, body) => {
    const source = `${forger.replace("import fs from 'node:fs';", '')}${begun}${fine}test('tells', () => { ${body} });`;
    expect(rules(await checks().tests(file(source), {}, { deadlineMs: 2500 }))).toEqual([rule]);
  });

  it('is told when it does so in one of the runs alone', async () => {
    const outcome = await checks().tests(
      file(`${fine}test('exits later', () => { if (Date.now() > 1.8e12) process.exit(0); });`),
    );
    expect(seen(outcome)).toEqual([
      ['TESTS_BROKEN_OFF', 'test', undefined, expect.stringContaining('In the second run')],
    ]);
  });
});

describe('a test that forges', () => {
  const forged = (nonce: string) =>
    `JSON.stringify({ nonce: ${nonce}, success: true, tests: [{ name: 'x', verdict: 'passed' }], moreTests: 0, diagnostics: [], files: [] })`;
  it.each([
    ['garbage on the channel', `test('x', () => { send(Buffer.from('x'.repeat(100))); for (;;); });`],
    [
      'a result',
      `test('x', () => { tell('POST', 'http://control.invalid/test-result', {}, ${forged("'0'.repeat(32)")}); for (;;); });`,
    ],
    ['a second job', `test('x', () => { ask('GET', 'http://control.invalid/test-job'); for (;;); });`],
    ['other inputs', `test('x', () => { ask('GET', 'http://control.invalid/inputs'); for (;;); });`],
    [
      'a request of nodes',
      `test('x', () => { tell('POST', 'http://control.invalid/result', { 'glovebox-result': 'output' }, '1'); for (;;); });`,
    ],
  ])('%s is told', async (_, body) => {
    const top = forger.replace("import fs from 'node:fs';", '');
    expect(rules(await checks().tests(file(`${top}\n${fine}${body}`), {}, { deadlineMs: 20_000 }))).toEqual([
      'TESTS_BROKEN_OFF',
    ]);
  });

  it('finds no handle of the channel', async () => {
    expect(
      await checks().tests(
        file(`test('x', () => {
  const handles = [...process._getActiveHandles(), ...process._getActiveRequests()];
  assert.deepEqual(handles.filter((handle) => handle.fd === 3 || handle._handle?.fd === 3), []);
});`),
      ),
    ).toEqual(passed(1));
  });

  it.each([
    [
      'printing what a runner prints',
      "console.log('TAP version 13\\nok 1 - is wrong\\n1..1\\n# pass 1\\n# fail 0'); process.stdout.write('\\u0000\\u000f');",
    ],
    ['what emits events', "import { EventEmitter } from 'node:events'; EventEmitter.prototype.emit = () => true;"],
    [
      'streams',
      "import { Readable } from 'node:stream'; Readable.prototype.push = () => true; Readable.prototype.on = function () { return this; };",
    ],
    ['the console', 'console.log = console.error = () => { throw 1; }; globalThis.console = undefined as never;'],
    ['JSON', 'JSON.stringify = () => \'{"tests":[]}\'; Object.prototype.toJSON = () => ({});'],
    [
      'arrays',
      'Array.prototype.push = () => 0; Array.prototype.map = () => []; Array.prototype[Symbol.iterator] = function* () {};',
    ],
    ['texts', "String.prototype.slice = () => ''; String.prototype.indexOf = () => -1;"],
    ['promises', 'Promise.prototype.finally = () => { throw 1; };'],
    ['files', "fs.writeSync = () => 0; fs.readFileSync = () => Buffer.from('x'); fs.readdirSync = () => [];"],
    ['the runner', "import runner from 'node:test'; runner.run = () => { throw 1; }; (runner as any).test = () => {};"],
    [
      'exit codes and listeners',
      "process.exitCode = 0; process.on('exit', () => { process.exitCode = 0; }); process.removeAllListeners('uncaughtException');",
    ],
  ])('does not hide a failure by %s', async (_, body) => {
    const outcome = await checks().tests(file(`${body}\n${failing}${fine}`));
    expect(rules(outcome)).toEqual(['TESTS_FAILED']);
    expect(outcome.facts).toEqual(facts(2, 1));
  });
});

describe('the files of the package', () => {
  it('are told of when they change, go, become more or become something else', async () => {
    const outcome = await checks().tests({
      ...file(`
const url = (path: string) => new URL('../' + path, import.meta.url);
test('changes', () => { fs.writeFileSync(url('src/index.ts'), 'export default 2;'); });
test('changes by a byte', () => { fs.appendFileSync(url('package.json'), '\\n'); });
test('removes', () => { fs.rmSync(url('src/a.ts')); });
test('makes', () => { fs.mkdirSync(url('src/new')); fs.writeFileSync(url('src/new/file.ts'), ''); });
test('makes a directory', () => { fs.rmSync(url('src/b.ts')); fs.mkdirSync(url('src/b.ts')); });
`),
      'src/a.ts': '',
      'src/b.ts': '',
      'src/c.ts': '',
    });
    expect(outcome.facts).toEqual(facts(5));
    expect(seen(outcome).sort()).toEqual([
      ['TESTS_MUTATE', 'package.json', undefined, 'The tests changed package.json.'],
      ['TESTS_MUTATE', 'src/a.ts', undefined, 'The tests removed src/a.ts.'],
      ['TESTS_MUTATE', 'src/b.ts', undefined, 'The tests removed src/b.ts.'],
      ['TESTS_MUTATE', 'src/index.ts', undefined, 'The tests changed src/index.ts.'],
      ['TESTS_MUTATE', 'src/new/file.ts', undefined, 'The tests made src/new/file.ts.'],
    ]);
  });

  it('may be read, and others written elsewhere', async () => {
    expect(
      await checks().tests(
        file(`import os from 'node:os';
test('x', () => {
  const dir = fs.mkdtempSync(os.tmpdir() + '/x-');
  fs.writeFileSync(dir + '/y', fs.readFileSync(new URL('../src/index.ts', import.meta.url)));
});`),
      ),
    ).toEqual(passed(1));
  });
});

describe('two runs', () => {
  it('differ where tests depend on the order of files', async () => {
    const first = `${top}const { made } = globalThis as any;\ntest('x', () => assert.equal(made, undefined));\n`;
    const second = `${top}(globalThis as any).made = true;\ntest('y', () => {});\n`;
    expect(seen(await checks().tests({ 'test/a.test.ts': first, 'test/b.test.ts': second }))).toEqual([
      [
        'TESTS_NONDETERMINISTIC',
        'test/a.test.ts',
        5,
        expect.stringContaining('"x": passed in the first run, failed in the second'),
      ],
    ]);
    expect(await checks().tests({ 'test/a.test.ts': `${top}${fine}`, 'test/b.test.ts': second })).toEqual(passed(2));
  });

  it('differ where tests depend on the clock or on chance, each of which is told', async () => {
    const conditions = [
      'Date.now() < 1.8e12',
      "new Date().toISOString().startsWith('2026-01-01T00:00:0')",
      "Date().includes('2026')",
      "(globalThis as any).Temporal.Now.plainDateISO().toString() === '2026-01-01'",
      "(globalThis as any).Temporal.Now.zonedDateTimeISO('Asia/Tokyo').toString().startsWith('2026-01-01T09:00:0')",
      "new Intl.DateTimeFormat('en-US').format() === '1/1/2026'",
      "new Intl.DateTimeFormat('en-US').formatToParts().at(-1)?.value === '2026'",
      'performance.timeOrigin + performance.now() < 1.8e12',
      'new Date().getDay() === 4',
      'chance < 0.65',
    ];
    const body = conditions.map((condition, i) => `test('${i}', () => assert.ok(${condition}));`).join('\n');
    expect(seen(await checks().tests(file(`const chance = Math.random();\n${body}`)))).toEqual(
      conditions.map((_, i) => [
        'TESTS_NONDETERMINISTIC',
        'test/a.test.ts',
        5 + i,
        expect.stringContaining(`"${i}": passed in the first run, failed in the second`),
      ]),
    );
  });

  it('differ where the tests themselves do', async () => {
    expect(rules(await checks().tests(file(`${fine}test(\`at \${Date.now()}\`, () => {});`)))).toEqual([
      'TESTS_NONDETERMINISTIC',
      'TESTS_NONDETERMINISTIC',
    ]);
    expect(rules(await checks().tests(file(`${fine}if (Date.now() < 1.8e12) test('once', () => {});`)))).toEqual([
      'TESTS_NONDETERMINISTIC',
    ]);
  });

  it('agree on a clock that starts at a fixed time and goes on, on the zone and on what seeds give', async () => {
    expect(
      await checks().tests(
        file(`
test('goes on', async () => {
  const before = [Date.now(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.ok(Date.now() - before[0] >= 25 && Date.now() - before[0] < 5000);
  assert.ok(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 50);
  assert.ok([2026, 2031].includes(new Date().getFullYear()));
});
test('is UTC', () => assert.equal(Intl.DateTimeFormat().resolvedOptions().timeZone, 'UTC'));
test('is even', () => {
  const numbers = Array.from({ length: 10_000 }, () => Math.random());
  assert.ok(numbers.every((n) => n >= 0 && n < 1) && new Set(numbers).size > 9_990);
  assert.ok(Math.abs(numbers.reduce((sum, n) => sum + n, 0) / 10_000 - 0.5) < 0.02);
});
test('takes the same name twice', () => {});
test('takes the same name twice', () => {});
`),
      ),
    ).toEqual(passed(5));
  });
});

describe('a check that is cancelled', () => {
  it('leaves no cell', async () => {
    const before = checks().ends.length;
    const result = checks().tests(
      file("test('waits', () => new Promise((r) => setTimeout(r, 30_000)));"),
      {},
      { signal: AbortSignal.timeout(600) },
    );
    await expect(result).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(checks().ends.slice(before)).toMatchObject([{ cause: 'cancelled' }, { cause: 'cancelled' }]);
  });
});
