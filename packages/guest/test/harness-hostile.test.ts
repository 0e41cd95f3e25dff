import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attempt, attempt, type BuiltHarness, buildHarness, type HostOptions } from './host.ts';
import { outside } from './outside.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

const run = (bundle: string, options?: HostOptions): Promise<Attempt> => attempt(harness, bundle, options);
const node = (body: string, before = ''): string => `${before}\nexport default async (ctx) => {${body}\n};`;

/** Uses every part of the context after `damage`, and gives what must come out unharmed. */
const useEverything = `
  ctx.log.info('logged', { a: [1] });
  console.log('printed');
  ctx.progress(0.5, 'half');
  const stored = await ctx.files.write('a.txt', 'text', 'text/plain');
  let left = 'xy';
  const own = { [Symbol.iterator]: () => ({ next: () => (left ? { value: left, done: (left = '') !== '' } : { done: true }) }) };
  const chunks = await ctx.files.write('b.txt', own);
  await ctx.clock.sleep(1);
  return { list: [1, { b: 'two' }], sizes: [stored.sizeBytes, chunks.sizeBytes], input: ctx.input };`;

/** As a node that may use the network; and where `before` says so, has a connection that is kept. */
const runWithHttp = (damage: string, before = ''): Promise<Attempt> =>
  run(node(useEverything, `${before}${damage};`), {
    input: { k: ['v'] },
    http: true,
    onEgress: outside().onEgress,
  });
const connect = `await (await fetch('https://api.test/status/200?before')).text();\n`;

function expectUnharmed(got: Attempt): void {
  expect(got.outcome).toMatchObject({
    kind: 'output',
    text: '{"list":[1,{"b":"two"}],"sizes":[4,2],"input":{"k":["v"]}}',
  });
  expect(got.logs).toEqual([
    { source: 'node', level: 'info', message: 'logged', fields: { a: [1] } },
    { source: 'console', level: 'info', message: 'printed' },
  ]);
  expect(got.progress).toEqual([{ fraction: 0.5, message: 'half' }]);
  expect(got.files.map(({ name, content }) => `${name}=${content}`).sort()).toEqual(['a.txt=text', 'b.txt=xy']);
  expect(got.results).toBe(1);
}

describe('result, log, progress and files stay right when the node', () => {
  it('does nothing of the kind', async () => {
    expectUnharmed(await run(node(useEverything), { input: { k: ['v'] } }));
  });

  it('only uses the network', async () => {
    expectUnharmed(await runWithHttp('', connect));
  });

  const lie = '() => "forged"';
  const fail = '() => { throw new Error("patched") }';
  const methods = (names: string): string => JSON.stringify(names.split(' '));
  // What Node.js itself stumbles over when it throws (array elements, Array.prototype.pop, process.nextTick) is not here.
  it.each([
    ['JSON', `JSON.stringify = ${lie}; JSON.parse = ${fail}`],
    [
      'promises',
      `for (const k of ['then', 'catch', 'finally']) Promise.prototype[k] = ${fail}; Promise.resolve = ${fail}`,
    ],
    ['the constructor of promises', `Promise.prototype.constructor = function () {}`],
    [
      'arrays',
      `for (const k of ${methods('push shift map join slice concat forEach indexOf')}) Array.prototype[k] = ${fail}`,
    ],
    [
      'objects',
      `for (const k of ${methods('freeze keys entries assign defineProperty getPrototypeOf hasOwn')}) Object[k] = ${fail}`,
    ],
    [
      'reflection',
      `for (const k of ${methods('ownKeys apply get construct')}) Reflect[k] = ${fail}; Object.prototype.toString = ${fail}`,
    ],
    [
      'what every object inherits',
      `for (const C of [Object, Array, String, Number]) C.prototype.toJSON = ${lie}; Object.prototype.value = 7; Object.prototype.get = ${lie}; Object.prototype.done = true`,
    ],
    ['functions', `for (const k of ${methods('call apply bind')}) Function.prototype[k] = ${fail}`],
    ['strings', `for (const k of ${methods('slice replace split charCodeAt indexOf')}) String.prototype[k] = ${fail}`],
    ['patterns', `for (const k of ${methods('exec test')}) RegExp.prototype[k] = ${fail}`],
    [
      'maps and sets',
      `for (const C of [Map, Set, WeakMap]) for (const k of ${methods('get set has add delete')}) C.prototype[k] = ${fail}; globalThis.Map = globalThis.Set = undefined`,
    ],
    [
      'bytes',
      `const T = Object.getPrototypeOf(Uint8Array.prototype); for (const k of ${methods('set subarray slice fill')}) T[k] = ${fail}; Buffer.from = Buffer.concat = Buffer.alloc = ${fail}; Buffer.prototype.utf8Slice = ${fail}; TextEncoder.prototype.encode = ${fail}`,
    ],
    [
      'output',
      `process.stdout.write = process.stderr.write = ${lie}; Object.defineProperty(process, 'stdout', { value: null })`,
    ],
    [
      'files',
      `const fs = process.getBuiltinModule('fs'); for (const k of ${methods('writeSync write readSync writeFileSync')}) fs[k] = ${fail}`,
    ],
    [
      'streams',
      `const s = process.getBuiltinModule('stream'); for (const C of [s.Readable, s.Writable, s.Duplex, process.getBuiltinModule('net').Socket, process.getBuiltinModule('events').EventEmitter]) for (const k of ${methods('write read push emit on cork uncork end destroy _write _read _writev')}) C.prototype[k] = ${fail}`,
    ],
    [
      'iteration',
      `const A = Object.getPrototypeOf(async function* () {}.prototype); Object.getPrototypeOf(A).next = A.next = ${fail}; Object.getPrototypeOf([][Symbol.iterator]()).next = ${fail}; Array.prototype[Symbol.iterator] = ${fail}`,
    ],
    [
      'globals',
      `globalThis.JSON = globalThis.Promise = globalThis.Object = globalThis.Array = globalThis.TextEncoder = globalThis.AbortController = globalThis.URL = undefined`,
    ],
    [
      'timers and clocks',
      `globalThis.setTimeout = globalThis.setImmediate = globalThis.clearTimeout = globalThis.queueMicrotask = ${fail}; process.hrtime = Date.now = performance.now = ${fail}`,
    ],
    [
      'errors',
      `Error.prepareStackTrace = Error.captureStackTrace = ${fail}; Error.stackTraceLimit = 0; globalThis.Error = globalThis.TypeError = undefined`,
    ],
    ['process', `process.removeAllListeners(); process.on = process.exit = process.getBuiltinModule = ${fail}`],
  ])('patches %s', async (_, damage) => {
    expectUnharmed(await run(node(useEverything, `${damage};`), { input: { k: ['v'] } }));
    expectUnharmed(await runWithHttp(damage));
    // A connection that it keeps may break by it, and the attempt with that: then it is told so, once.
    const got = await runWithHttp(damage, connect);
    if (got.outcome.kind === 'error')
      expect(got).toMatchObject({ results: 1, outcome: { error: { code: 'NODE_FAILED' } } });
    else expectUnharmed(got);
  });

  it('patches console, and then prints by its own', async () => {
    const got = await run(node(`console.log('mine'); return 1`, `globalThis.console = { log() {} };`));
    expect(got.outcome).toMatchObject({ output: 1 });
    expect(got.logs).toEqual([]);
  });

  it('patches everything that tells of an error, and fails', async () => {
    const damage = `JSON.stringify = ${lie}; Error.prototype.toString = ${fail}; Object.defineProperty(Error.prototype, 'stack', { get: ${fail} }); String.prototype.slice = ${fail}; Promise.prototype.then = ${fail};`;
    const { outcome } = await run(node(`throw new TypeError('real')`, damage));
    expect(outcome).toMatchObject({ kind: 'error', error: { code: 'NODE_FAILED', message: 'TypeError: real' } });
  });
});

describe('what reaches out of JavaScript is refused, understandably:', () => {
  const attempts: [string, string, string][] = [
    [
      'a worker',
      `const { Worker } = await import('node:worker_threads'); new Worker('1', { eval: true })`,
      'ERR_ACCESS_DENIED',
    ],
    [
      'a child process',
      `const { spawnSync } = await import('node:child_process'); spawnSync('/bin/true')`,
      'ERR_ACCESS_DENIED',
    ],
    ['a cluster', `(await import('node:cluster')).default.fork()`, 'ERR_ACCESS_DENIED'],
    ['another program', `process.execve('/bin/true', ['true'])`, 'ERR_ACCESS_DENIED'],
    ['process.binding', `process.binding('fs')`, 'ERR_ACCESS_DENIED'],
    ['process.dlopen', `process.dlopen({ exports: {} }, '/tmp/x.node')`, 'ERR_DLOPEN_DISABLED'],
    ['an inspector', `(await import('node:inspector')).open(0)`, 'ERR_ACCESS_DENIED'],
    ['WASI', `const { WASI } = await import('node:wasi'); new WASI({ version: 'preview1' })`, 'ERR_ACCESS_DENIED'],
    ['FFI', `process.getBuiltinModule('node:ffi').dlopen('libc.so.6')`, 'TypeError'],
    ['a file outside', `(await import('node:fs')).readFileSync('/etc/passwd')`, 'ERR_ACCESS_DENIED'],
    [
      'a connection',
      `const net = await import('node:net'); await new Promise((_, no) => net.connect(80, '127.0.0.1').on('error', no))`,
      'ERR_ACCESS_DENIED',
    ],
    [
      'a server',
      `const net = await import('node:net'); await new Promise((_, no) => net.createServer().on('error', no).listen(0))`,
      'ERR_ACCESS_DENIED',
    ],
    [
      'a datagram',
      `const d = await import('node:dgram'); await new Promise((_, no) => d.createSocket('udp4').on('error', no).bind(0))`,
      'ERR_ACCESS_DENIED',
    ],
    ['a name look-up', `await (await import('node:dns/promises')).lookup('example.com')`, 'ERR_ACCESS_DENIED'],
    [
      'the descriptor of the channel',
      `const net = await import('node:net'); new net.Socket({ fd: 3 })`,
      'ERR_ACCESS_DENIED',
    ],
    [
      'the network permission',
      `if (process.permission.has('net')) throw new Error('has net'); throw Object.assign(new Error(), { code: 'gone' })`,
      'gone',
    ],
    ['eval', `(0, eval)('1 + 1')`, 'EvalError'],
    ['direct eval', `eval('1 + 1')`, 'EvalError'],
    ['Function', `new Function('return 1')`, 'EvalError'],
    ['Function called', `Function('return this')()`, 'EvalError'],
    ['constructor.constructor', `({}).constructor.constructor('return process')()`, 'EvalError'],
    ['an async function from text', `new (Object.getPrototypeOf(async () => {}).constructor)('return 1')`, 'EvalError'],
    ['a generator from text', `new (Object.getPrototypeOf(function* () {}).constructor)('yield 1')`, 'EvalError'],
    [
      'an async generator from text',
      `new (Object.getPrototypeOf(async function* () {}).constructor)('yield 1')`,
      'EvalError',
    ],
    ['a subclass of Function', `new (class extends Function {})('return 1')`, 'EvalError'],
    ['a timer from text', `setTimeout('1 + 1')`, 'ERR_INVALID_ARG_TYPE'],
  ];
  it.each(attempts)('%s', async (_, body, code) => {
    const { outcome } = await run(node(`try { ${body} } catch (e) { return e.code ?? e.name } return 'done'`));
    expect(outcome).toMatchObject({
      kind: 'output',
      output: code,
    });
  });

  it('while functions as libraries use them stay what they are', async () => {
    const body = `const f = () => {}; class A { m() {} }
      return [f instanceof Function, Function.prototype.isPrototypeOf(f), f.constructor === Function, typeof Function, Function.name, Object.getPrototypeOf(A) === Function.prototype, eval(7), eval.length, Function.length, Function.prototype.toString.call(f), new A() instanceof Object, typeof globalThis.fetch]`;
    const { outcome } = await run(node(body));
    expect(outcome).toMatchObject({
      output: [true, true, true, 'function', 'Function', true, 7, 1, 1, '() => {}', true, 'function'],
    });
  });
});

describe('only its own attempt ends when the node', () => {
  it('writes to the descriptor of the channel', async () => {
    const { outcome, results } = await run(
      node(
        `const fs = await import('node:fs'); for (let i = 0; i < 64; i++) try { fs.writeSync(3, Buffer.alloc(1000, 255)) } catch {} await new Promise((r) => setTimeout(r, 200)); return 1`,
      ),
    );
    expect(outcome.kind).toBe('exit');
    expect(results).toBe(0);
  });

  it('closes the descriptor of the channel', async () => {
    const { outcome } = await run(
      node(
        `const fs = await import('node:fs'); fs.closeSync(3); setTimeout(() => {}, 100); await new Promise((r) => setTimeout(r, 100)); return 1`,
      ),
    );
    expect(outcome.kind).toBe('exit');
  });

  it('loads the harness once more', async () => {
    const { outcome } = await run(
      node(
        `const { createRequire } = await import('node:module'); const { readdirSync } = await import('node:fs'); try { createRequire(import.meta.url)(process.argv[1]) } catch (e) { return e.code ?? e.name } return 'loaded'`,
      ),
    );
    expect(['output', 'error', 'exit']).toContain(outcome.kind);
  });

  it('settles twice, or throws after its result', async () => {
    const { outcome, results } = await run(
      node(
        `setTimeout(() => { throw new Error('late') }, 1); setTimeout(() => process.exit(1), 2); return new Promise((r) => { r(1); r(2); Promise.reject(new Error('later')) })`,
      ),
    );
    expect(outcome.kind).not.toBe('exit');
    expect(results).toBe(1);
  });
});
