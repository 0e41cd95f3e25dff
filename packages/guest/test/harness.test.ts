import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Attempt, attempt, type BuiltHarness, buildHarness, type HostOptions, start } from './host.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

const run = (bundle: string, options?: HostOptions): Promise<Attempt> => attempt(harness, bundle, options);
/** A bundle whose handler has this body. */
const node = (body: string, before = ''): string => `${before}\nexport default async (ctx) => {${body}\n};`;
const output = async (bundle: string, options?: HostOptions): Promise<unknown> => {
  const { outcome } = await run(bundle, options);
  expect(outcome).toMatchObject({ kind: 'output' });
  return outcome.kind === 'output' ? outcome.output : undefined;
};
const error = async (bundle: string, options?: HostOptions) => {
  const { outcome } = await run(bundle, options);
  expect(outcome).toMatchObject({ kind: 'error' });
  return outcome.kind === 'error' ? outcome.error : undefined;
};

describe('the context', () => {
  it('has input, config, ids, key, clock and scratch as the job says', async () => {
    const got = await output(
      node(
        'return { input: ctx.input, config: ctx.config, ids: Object.keys(ctx.ids), key: ctx.idempotencyKey, now: ctx.clock.now(), scratch: ctx.scratch }',
      ),
      { input: { a: [1, { b: 'ü' }] }, config: { c: null } },
    );
    expect(got).toMatchObject({
      input: { a: [1, { b: 'ü' }] },
      config: { c: null },
      ids: ['project', 'node', 'run', 'attempt', 'correlation'],
      key: 'key-1',
      scratch: '/tmp',
    });
    const { now } = got as { now: number };
    expect(Number.isInteger(now)).toBe(true);
    expect(now).toBeGreaterThanOrEqual(1_767_225_600_000);
    expect(now).toBeLessThan(1_767_225_660_000);
  });

  it('is frozen all the way down', async () => {
    const attempts = [
      'ctx.input.a.b = 1',
      'ctx.input.a.list.push(1)',
      'delete ctx.config.x',
      'ctx.log = null',
      'ctx.log.info = null',
      'ctx.files.write = null',
      'ctx.ids.run = 1',
    ];
    const body = `const said = []; for (const f of [${attempts.map((text) => `() => { ${text} }`).join(',')}]) try { f(); said.push('done') } catch (e) { said.push(e.name) } return said`;
    expect(await output(node(body), { input: { a: { b: 0, list: [] } }, config: { x: 1 } })).toEqual(
      attempts.map(() => 'TypeError'),
    );
  });

  it('keeps own __proto__ keys of input as data, and in the output', async () => {
    const input = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":1,"constructor":{"prototype":{}}}}');
    const { outcome } = await run(
      node(
        'if (({}).polluted !== undefined) throw new Error("polluted"); return { own: Object.hasOwn(ctx.input, "__proto__"), input: ctx.input }',
      ),
      { input },
    );
    expect(outcome).toMatchObject({
      kind: 'output',
      text: '{"own":true,"input":{"__proto__":{"polluted":true},"a":{"__proto__":1,"constructor":{"prototype":{}}}}}',
    });
  });

  it('answers credentials, which come later, at once', async () => {
    const ways = ['ctx.credentials.reveal("api")', '(async () => ctx.credentials.has("api"))()'];
    const body = `const codes = []; for (const f of [${ways.map((way) => `() => ${way}`).join(',')}]) await f().catch((e) => codes.push(e.code)); return codes`;
    expect(await output(node(body))).toEqual(ways.map(() => 'NOT_AVAILABLE_YET'));
  });

  it('takes only the documented types in its helpers', async () => {
    const calls = [
      'ctx.log.info({})',
      'ctx.log.info(new String("x"))',
      'ctx.log.warn(["x"])',
      'ctx.log.error("x", "y")',
      'ctx.progress("0.5")',
      'ctx.progress(0.5, { toString() { return "x" } })',
      'ctx.progress({ fraction: "1" })',
      'await ctx.files.write(new URL("file:///etc/passwd"), "x")',
      'await ctx.files.write({ toString: () => "a" }, "x")',
      'await ctx.files.write("a", { path: "/etc/passwd" })',
      'await ctx.files.write("a", new Uint16Array(2))',
      'await ctx.files.write("a", 7)',
      'await ctx.files.write("a", "x", ["text/plain"])',
      'await ctx.files.write("a", [1, 2])',
      'await ctx.clock.sleep("1")',
      'await ctx.clock.sleep(1, { signal: { aborted: false } })',
      'await ctx.clock.sleep(1, 5)',
    ];
    const body = `const said = []; for (const f of [${calls.map((call) => `async () => { ${call} }`).join(',')}]) await f().then(() => said.push('taken'), (e) => said.push(e.name)); return said`;
    const { outcome, files, logs } = await run(node(body));
    expect(outcome).toMatchObject({ kind: 'output', output: calls.map(() => 'TypeError') });
    expect(logs).toEqual([]);
    expect(files).toEqual([]);
  });

  it('tells what is out of range', async () => {
    const calls = [
      'ctx.progress(1.5)',
      'ctx.progress(NaN)',
      'ctx.progress(0, "x".repeat(501))',
      'await ctx.clock.sleep(-1)',
      'await ctx.clock.sleep(2 ** 31)',
    ];
    const body = `const said = []; for (const f of [${calls.map((call) => `async () => { ${call} }`).join(',')}]) await f().then(() => said.push('taken'), (e) => said.push(e.name)); return said`;
    expect(await output(node(body))).toEqual(calls.map(() => 'RangeError'));
  });
});

describe('a bundle', () => {
  it('may use top-level await, createRequire, dynamic import and import.meta', async () => {
    const before = `import { createRequire } from 'node:module'; import process from 'node:process'; const require = createRequire(import.meta.url); const { join } = require('node:path'); await new Promise((r) => setTimeout(r, 5)); const { EOL } = await import('node:os');`;
    expect(
      await output(
        node('return [join("a", "b"), EOL, import.meta.url, import.meta.dirname, typeof process.exit]', before),
      ),
    ).toEqual(['a/b', '\n', 'file:///glovebox/bundle.mjs', '/glovebox', 'function']);
  });

  it('is not found again by its URL, and no hook of the harness stays', async () => {
    expect(await error(node('await import("file:///glovebox/bundle.mjs?again")'))).toMatchObject({
      code: 'NODE_FAILED',
    });
    expect(
      await output(
        node(
          'const { readFileSync } = await import("node:fs"); try { readFileSync("/glovebox/bundle.mjs") } catch (e) { return e.code }',
        ),
      ),
    ).toMatch(/ENOENT|ERR_ACCESS_DENIED/);
  });

  it.each([
    ['throws at load', 'throw new RangeError("at load")', 'RangeError: at load'],
    ['imports what is not there', 'import x from "left-pad"; export default () => x', 'left-pad'],
    ['is no JavaScript', 'export default (', 'SyntaxError'],
    ['throws at load in a timer', 'setTimeout(() => { throw new Error("late") }); await new Promise(() => {})', 'late'],
  ])('that %s fails as NODE_LOAD_FAILED', async (_, bundle, message) => {
    const { outcome, loaded } = await run(bundle);
    expect(outcome).toMatchObject({
      kind: 'error',
      error: { code: 'NODE_LOAD_FAILED', message: expect.stringContaining(message) },
    });
    expect(loaded).toBe(false);
  });

  it.each([
    ['nothing', 'export const handler = () => 1'],
    ['a value of type object', 'export default { handler() {} }'],
    ['a value of type string', 'export default "x"'],
  ])('that exports %s is no handler', async (what, bundle) => {
    expect(await error(bundle)).toMatchObject({ code: 'NODE_NOT_A_HANDLER', message: expect.stringContaining(what) });
  });

  it('that is not the one of the job is not loaded', async () => {
    const honest = node('return 1');
    const digest = `sha256:${'0'.repeat(64)}`;
    for (const bundle of [{ digest }, { sizeBytes: 5 }]) {
      const { outcome, raw, loaded } = await run(honest, { bundle });
      expect(outcome).toMatchObject({ kind: 'exit', code: 70 });
      expect(raw).toContain('bundle');
      expect(loaded).toBe(false);
    }
    expect(await output(honest)).toBe(1);
  });

  it('of some megabytes is loaded and checked', async () => {
    expect(await output(`${node('return text.length')}\nconst text = "${'x'.repeat(3_000_000)}";`)).toBe(3_000_000);
  });
});

describe('the output', () => {
  it('is sent as JSON text, exactly', async () => {
    const { outcome, results } = await run(
      node('return { "a": [1, -0, 1e21, 2 ** 64, "\\ud800 é", null, true], "__proto__x": {} }'),
    );
    expect(outcome).toMatchObject({
      kind: 'output',
      text: '{"a":[1,-0,1e+21,18446744073709551616,"\\ud800 é",null,true],"__proto__x":{}}',
    });
    expect(results).toBe(1);
  });

  it.each([
    ['undefined', 'return undefined', ''],
    ['a nested undefined', 'return { a: [{ b: undefined }] }', '/a/0/b'],
    ['a BigInt', 'return { "x/y~z": 1n }', '/x~1y~0z'],
    ['a Date', 'return [new Date()]', '/0'],
    ['a Map', 'return { m: new Map() }', '/m'],
    ['NaN', 'return [[NaN]]', '/0/0'],
    ['a cycle', 'const a = { b: {} }; a.b.c = a; return a', '/b/c'],
    ['toJSON', 'return { toJSON() { return 1 } }', '/toJSON'],
    ['a getter that throws', 'return { get x() { throw 1 } }', '/x'],
    ['100,000 levels', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a', undefined],
  ])('is refused with its place when it holds %s', async (_, body, place) => {
    const failed = await error(node(body));
    expect(failed).toMatchObject({ code: 'OUTPUT_NOT_JSON' });
    if (place !== undefined) expect(failed?.place).toBe(place);
  });

  it('over its limit is refused without being sent, and up to it is taken', async () => {
    const limits = { outputBytes: 2048 };
    expect(await error(node('return "é".repeat(1024)'), { limits })).toMatchObject({ code: 'OUTPUT_TOO_LARGE' });
    expect(await output(node('return "é".repeat(1023)'), { limits })).toBe('é'.repeat(1023));
    const doubling = 'let a = ["xxxxxxxxxx"]; for (let i = 0; i < 64; i++) a = [a, a]; return a';
    expect(await error(node(doubling), { limits })).toMatchObject({ code: 'OUTPUT_TOO_LARGE' });
  });

  it('of many megabytes arrives whole', async () => {
    const { outcome } = await run(node('return "x".repeat(12_000_000)'), { limits: { outputBytes: 16 * 1024 * 1024 } });
    expect(outcome.kind === 'output' && outcome.text.length).toBe(12_000_002);
  });

  it('may come from a handler that returns a value, a promise or a thenable', async () => {
    expect(await output('export default () => 1')).toBe(1);
    expect(await output('export default () => new Promise((r) => setTimeout(r, 5, 2))')).toBe(2);
    expect(await output('export default () => ({ then: (ok) => ok(3) })')).toBe(3);
  });
});

describe('an error', () => {
  const nodeError = `class NodeError extends Error { constructor(code, message, more) { super(message, more); this.name = 'NodeError'; this.code = code; Object.assign(this, more); } get [Symbol.for('glovebox.NodeError')]() { return true; } }`;

  it('of the SDK keeps its code and options', async () => {
    expect(
      await error(
        node(
          'throw new NodeError("NO_ORDER", "none", { retryable: true, retryAfterMs: 5000, details: { id: 7 } })',
          nodeError,
        ),
      ),
    ).toMatchObject({
      code: 'NO_ORDER',
      message: 'none',
      retryable: true,
      retryAfterMs: 5000,
      details: { id: 7 },
    });
  });

  it('of the SDK with a code that is none is an ordinary failure', async () => {
    expect(await error(node('throw new NodeError("no order", "none")', nodeError))).toMatchObject({
      code: 'NODE_FAILED',
    });
  });

  it('of another kind tells name, message, stack and causes', async () => {
    const failed = await error(
      node('throw new RangeError("outer", { cause: new TypeError("inner", { cause: "root" }) })'),
    );
    expect(failed).toMatchObject({ code: 'NODE_FAILED', message: 'RangeError: outer' });
    expect(failed?.stack).toContain('file:///glovebox/bundle.mjs:');
    expect(failed?.stack).toMatch(/Caused by: TypeError: inner[\s\S]*Caused by: .*root/);
  });

  it.each([
    ['null', 'throw null'],
    ['a string', 'throw "why"'],
    ['a symbol', 'throw Symbol("s")'],
    [
      'a proxy that throws at every touch',
      'throw new Proxy({}, new Proxy({}, { get() { return () => { throw 1 } } }))',
    ],
    ['a revoked proxy', 'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy'],
    [
      'an Error whose parts are getters that throw',
      'throw Object.defineProperties(new Error(), { message: { get() { throw 1 } }, stack: { get() { throw 1 } }, cause: { get() { throw 1 } } })',
    ],
    ['an Error that is its own cause', 'const e = new Error("me"); e.cause = e; throw e'],
  ])('that is %s is NODE_FAILED', async (_, body) => {
    expect(await error(node(body))).toMatchObject({ code: 'NODE_FAILED' });
  });

  it('of any size is cut to what the host takes', async () => {
    const failed = await error(
      node(
        `throw new NodeError("BIG", "\\u0000".repeat(1e6), { details: Array.from({ length: 1e5 }, () => "\\u0001".repeat(50)) })`,
        nodeError,
      ),
    );
    expect(failed?.code).toBe('BIG');
  });

  it('about a full disk means that scratch is full, also as a cause', async () => {
    const full = 'Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })';
    expect(await error(node(`throw ${full}`))).toMatchObject({ code: 'SCRATCH_FULL' });
    expect(await error(node(`throw new Error("could not save", { cause: ${full} })`))).toMatchObject({
      code: 'SCRATCH_FULL',
    });
  });

  it.each([
    ['a timer', 'setTimeout(() => { throw new Error("stray") }, 5); await new Promise((r) => setTimeout(r, 5000))'],
    ['a promise', 'Promise.reject(new Error("stray")); await new Promise((r) => setTimeout(r, 5000))'],
    [
      'an emitter',
      'const { EventEmitter } = await import("node:events"); setImmediate(() => new EventEmitter().emit("error", new Error("stray"))); await new Promise((r) => setTimeout(r, 5000))',
    ],
  ])('that nobody catches, from %s, fails the attempt', async (_, body) => {
    expect(await error(node(body))).toMatchObject({ code: 'NODE_FAILED', message: 'stray' });
  });
});

describe('the end', () => {
  it('of a handler that never yields finds the host told that it runs', async () => {
    const running = start(harness, node('for (;;);'));
    await vi.waitUntil(() => running.isLoaded(), { timeout: 30_000 });
    process.kill(running.pid, 'SIGKILL');
    expect(await running.ended).toMatchObject({ loaded: true, outcome: { kind: 'exit', signal: 'SIGKILL' } });
  });

  it('comes at once when nothing is left that could wake the handler', async () => {
    expect(await error(node('await new Promise(() => {})'))).toMatchObject({
      code: 'NODE_NEVER_SETTLED',
      message: expect.stringContaining('handler'),
    });
    expect(await error('await new Promise(() => {}); export default () => 1')).toMatchObject({
      code: 'NODE_NEVER_SETTLED',
      message: expect.stringContaining('top-level await'),
    });
    expect(await output(node('await new Promise((r) => setTimeout(r, 30)); return "woken"'))).toBe('woken');
  });

  it('by process.exit is told, with what was logged before it', async () => {
    const { outcome, logs } = await run(node('ctx.log.info("a"); console.error("b"); process.exit(3)'));
    expect(outcome).toMatchObject({
      kind: 'error',
      error: { code: 'NODE_EXITED', message: expect.stringContaining('3') },
    });
    expect(logs.map(({ message }) => message)).toEqual(['a', 'b']);
  });

  it.each([
    ['reallyExit', 'process.reallyExit(7)', { code: 7 }],
    ['abort', 'process.abort()', { signal: 'SIGABRT' }],
  ])('by process.%s is seen by the host', async (_, body, end) => {
    expect((await run(node(body))).outcome).toMatchObject({ kind: 'exit', ...end });
  });

  it('comes when the host goes away', async () => {
    const running = start(
      harness,
      node('ctx.log.info("up"); setInterval(() => {}, 1000); await new Promise(() => {})'),
    );
    await vi.waitUntil(() => running.logs.length > 0, { timeout: 30_000 });
    running.hangUp();
    expect((await running.ended).outcome).toEqual({ kind: 'exit', code: 1, signal: null });
  });
});
