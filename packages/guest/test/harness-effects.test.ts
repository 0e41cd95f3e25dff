import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type Attempt,
  answer,
  attempt,
  type BuiltHarness,
  buildHarness,
  bytes,
  type HostOptions,
  start,
} from './host.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

const run = (bundle: string, options?: HostOptions): Promise<Attempt> => attempt(harness, bundle, options);
const node = (body: string, before = ''): string => `${before}\nexport default async (ctx) => {${body}\n};`;
const messages = ({ logs }: Attempt) => logs.map(({ source, level, message }) => `${source} ${level} ${message}`);

describe('the log', () => {
  it('takes ctx.log with any fields, turned into JSON', async () => {
    const body = `
      ctx.log.debug('plain');
      ctx.log.info('rich', { n: 1, big: 7n, at: new Date(0), e: new TypeError('bad'), u: undefined, f() {}, bytes: new Uint8Array(3), nan: NaN, get x() { throw 1 } });
      const cycle = {}; cycle.self = cycle; ctx.log.warn('deep', cycle);
      ctx.log.error('list', [1, [2]]); return 0`;
    const { logs } = await run(node(body));
    expect(logs).toMatchObject([
      { source: 'node', level: 'debug', message: 'plain' },
      {
        level: 'info',
        fields: {
          n: 1,
          big: '7n',
          at: '1970-01-01T00:00:00.000Z',
          e: 'TypeError: bad',
          u: '[undefined]',
          f: '[Function f]',
          bytes: '[Uint8Array]',
          nan: 'NaN',
          x: '[threw when it was read]',
        },
      },
      { level: 'warn', message: 'deep' },
      { level: 'error', fields: [1, [2]] },
    ]);
    expect(logs[0]).not.toHaveProperty('fields');
  });

  it('takes console as Node.js formats it, with levels, groups, tables and counts', async () => {
    const body = `
      console.log('a %s %d %j', 'b', 3, { c: 4 }); console.info({ a: { b: { c: { d: 1 } } } }); console.debug('dbg'); console.warn('w'); console.error(new Error('shown').message);
      console.group('g'); console.log('in'); console.groupEnd(); console.log('out'); console.assert(1 === 2, 'not'); console.count(); console.table([{ a: 1 }]);
      console.log('two\\nlines'); console.log(); return 0`;
    const got = messages(await run(node(body)));
    expect(got.slice(0, 8)).toEqual([
      'console info a b 3 {"c":4}',
      'console info { a: { b: { c: [Object] } } }',
      'console debug dbg',
      'console warn w',
      'console error shown',
      'console info g',
      'console info   in',
      'console info out',
    ]);
    expect(got.slice(8)).toEqual([
      'console error Assertion failed: not',
      'console info default: 1',
      expect.stringContaining('│ a │'),
      'console info two\nlines',
      'console info ',
    ]);
  });

  it('takes process.stdout and stderr line by line, in any pieces and encodings', async () => {
    const body = `
      process.stdout.write('one\\ntw'); process.stdout.write('o\\r\\n'); process.stderr.write(Buffer.from('é!').subarray(0, 1)); process.stderr.write(Buffer.from('é!').subarray(1)); process.stdout.write('aGk=', 'base64');
      await new Promise((r) => process.stdout.write('', r)); return [process.stdout.fd, process.stderr.fd, process.stdout.isTTY === undefined]`;
    const got = await run(node(body));
    expect(got.outcome).toMatchObject({ output: [1, 2, true] });
    expect(messages(got)).toEqual(['stdout info one', 'stdout info two', 'stdout info hi', 'stderr warn é!']);
  });

  it('leaves raw writes to fds 1 and 2 to the host, and stdin is empty', async () => {
    const body = `const fs = await import('node:fs'); fs.writeSync(1, 'raw1\\n'); fs.writeSync(2, 'raw2\\n'); process._rawDebug('raw3');
      let read = 0; for await (const chunk of process.stdin) read += chunk.length; return [read, fs.readSync(0, Buffer.alloc(8))]`;
    const { outcome, raw } = await run(node(body));
    expect(outcome).toMatchObject({ output: [0, 0] });
    for (const text of ['raw1', 'raw2', 'raw3']) expect(raw).toContain(text);
  });

  it('cuts what is long, and an endless line is handed on in pieces', async () => {
    const got = await run(
      node(`ctx.log.info('x'.repeat(200_000)); process.stdout.write('y'.repeat(40_000)); return 0`),
    );
    expect(got.logs.map(({ source, message }) => `${source} ${message.length <= 65_536}`)).toEqual([
      'node true',
      'stdout true',
      'stdout true',
      'stdout true',
    ]);
    expect(got.logs[0]?.message).toMatch(/x… \(\d+ more characters\)$/);
    expect(
      got.logs
        .slice(1)
        .map(({ message }) => message)
        .join(''),
    ).toBe('y'.repeat(40_000));
  });

  it('stops a little past its limit, and the result still comes', async () => {
    const got = await run(node(`for (let i = 0; i < 100_000; i++) console.log('line ' + i); return 'done'`), {
      limits: { logBytes: 4096 },
    });
    expect(got.outcome).toMatchObject({ output: 'done' });
    const sent = got.logs.reduce((sum, { message }) => sum + message.length, 0);
    expect(sent).toBeGreaterThan(1000);
    expect(sent).toBeLessThan(8192);
  });

  it('arrives whole before the result when it is more than the host has given credit for', async () => {
    const got = await run(node(`for (let i = 0; i < 3000; i++) ctx.log.info(i + 'z'.repeat(1000)); return 'done'`), {
      limits: { logBytes: 8 * 1024 * 1024 },
    });
    expect(got.outcome).toMatchObject({ output: 'done' });
    expect(got.logs).toHaveLength(3000);
    expect(got.logs[2999]?.message.startsWith('2999z')).toBe(true);
  });

  it('arrives before a loop that never yields', async () => {
    const running = start(
      harness,
      node(`ctx.log.info('first'); console.log('second'); process.stdout.write('third\\n'); for (;;);`),
    );
    await vi.waitUntil(() => running.logs.length === 3, { timeout: 30_000 });
    expect(running.logs.map(({ message }) => message)).toEqual(['first', 'second', 'third']);
    running.hangUp();
    process.kill(running.pid, 'SIGKILL');
    expect(await running.ended).toMatchObject({ outcome: { signal: 'SIGKILL' }, loaded: true });
  });
});

describe('progress', () => {
  it('arrives as it was given, the last one always', async () => {
    const got = await run(
      node(
        `ctx.progress(0.1); await new Promise((r) => setTimeout(r, 150)); ctx.progress({ message: 'half "way"' }); await new Promise((r) => setTimeout(r, 150)); ctx.progress(1, 'all'); return 0`,
      ),
    );
    expect(got.progress).toEqual([{ fraction: 0.1 }, { message: 'half "way"' }, { fraction: 1, message: 'all' }]);
  });

  it('is merged when it comes too fast', async () => {
    const body = `
      const start = performance.now();
      for (let i = 0; i <= 20_000; i++) ctx.progress(i / 20_000);
      return performance.now() - start`;
    const got = await run(node(body));
    const tookMs = (got.outcome as { output: number }).output;
    // The first, the last, and one each 100 ms between: a busy host gives room for more of those.
    expect(got.progress.length).toBeLessThanOrEqual(3 + Math.floor(tookMs / 100));
    expect(got.progress.at(-1)).toEqual({ fraction: 1 });
  });

  it('of a handler that does not yield arrives as it computes, and leaves room for files and the result', async () => {
    const body = `
      const busy = (ms) => { for (const start = Date.now(); Date.now() - start < ms;); };
      for (let i = 0; i < 40; i++) { ctx.progress(i / 40); busy(i < 5 ? 30 : 101); }
      ctx.progress(1);
      await ctx.files.write('a', 'b'); return 'done'`;
    const got = await run(node(body), { channel: { maxStreams: 28 } });
    expect(got.outcome).toMatchObject({ output: 'done' });
    expect(got.files).toHaveLength(1);
    expect(got.progress.length).toBeGreaterThan(20);
    expect(got.progress.at(-1)).toEqual({ fraction: 1 });
  });

  it('that the host does not answer leaves room for files and the result', async () => {
    const body = `
      for (let i = 0; i < 30; i++) { ctx.progress(i / 30); await ctx.clock.sleep(101); }
      await ctx.files.write('a', 'b'); return 'done'`;
    let reports = 0;
    const got = await run(node(body), {
      channel: { maxStreams: 28 },
      onStream: (_, path) => path === '/progress' && ++reports > 0,
    });
    expect(got.outcome).toMatchObject({ output: 'done' });
    expect(got.files).toHaveLength(1);
    expect(reports).toBeGreaterThan(2);
  });

  it('does not keep a node alive', async () => {
    const got = await run(node(`ctx.progress(0.1); ctx.progress(0.2); await new Promise(() => {})`));
    expect(got.outcome).toMatchObject({ kind: 'error', error: { code: 'NODE_NEVER_SETTLED' } });
  });
});

describe('files', () => {
  it('are stored from text, bytes and every kind of stream', async () => {
    const body = `
      const { Readable } = await import('node:stream'); const chunks = ['é', new Uint8Array([1, 2]), Buffer.from('x')];
      const made = [
        await ctx.files.write('text', 'é', 'text/plain; charset=utf-8'), await ctx.files.write('bytes', new Uint8Array([0, 255])),
        await ctx.files.write('web', new Blob(['ab', 'c']).stream()), await ctx.files.write('node', Readable.from([Buffer.from('de'), Buffer.from('f')])),
        await ctx.files.write('async', (async function* () { yield* chunks })()), await ctx.files.write('sync', (function* () { yield* chunks })()), await ctx.files.write('array', chunks), await ctx.files.write('empty', ''),
      ]; return made`;
    const got = await run(node(body));
    const content = Object.fromEntries(got.files.map(({ name, content }) => [name, content.toString('latin1')]));
    const mixed = 'Ã©\x01\x02x';
    expect(content).toEqual({
      text: 'Ã©',
      bytes: '\x00\xff',
      web: 'abc',
      node: 'def',
      async: mixed,
      sync: mixed,
      array: mixed,
      empty: '',
    });
    expect(got.files[0]?.mediaType).toBe('text/plain; charset=utf-8');
    expect(got.files[1]?.mediaType).toBe('application/octet-stream');
    expect(got.outcome.kind === 'output' && got.outcome.output).toMatchObject([
      { digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), sizeBytes: 2 },
      { sizeBytes: 2 },
      {},
      {},
      {},
      {},
      {},
      { sizeBytes: 0 },
    ]);
  });

  it('are read no faster than the host takes them', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const body = `let made = 0; const source = (async function* () { for (; made < 64; made++) yield new Uint8Array(64 * 1024) })();
      const writing = ctx.files.write('big', source); await new Promise((r) => setTimeout(r, 300)); ctx.log.info('made', { made }); const { sizeBytes } = await writing; return [made, sizeBytes]`;
    const running = start(harness, node(body), {
      onStream: (stream, path) => {
        if (path !== '/files/big') return false;
        void held.then(async () =>
          answer(stream, 201, JSON.stringify({ digest: 'sha256:x', sizeBytes: (await bytes(stream.body)).length })),
        );
        return true;
      },
    });
    await vi.waitUntil(() => running.logs.length > 0, { timeout: 30_000 });
    // The stream's window of 256 KiB, what Node.js and the kernel hold, and not 4 MiB.
    expect((running.logs[0]?.fields as { made: number } | undefined)?.made).toBeLessThan(24);
    release();
    expect((await running.ended).outcome).toMatchObject({ output: [64, 4 * 1024 * 1024] });
  });

  it.each([
    ['../up', 'FILE_NAME_REFUSED'],
    ['a/b', 'FILE_NAME_REFUSED'],
    ['.hidden', 'FILE_NAME_REFUSED'],
    ['', 'FILE_NAME_REFUSED'],
    ['x'.repeat(129), 'FILE_NAME_REFUSED'],
    ['a?b', 'FILE_NAME_REFUSED'],
    ['x'.repeat(128), undefined],
    ['Report_1.v2-final.csv', undefined],
  ])('named %j end as %s', async (name, code) => {
    const got = await run(
      node(`try { await ctx.files.write(${JSON.stringify(name)}, 'x'); return null } catch (e) { return e.code }`),
    );
    expect(got.outcome).toMatchObject({ output: code ?? null });
    expect(got.files).toHaveLength(code ? 0 : 1);
  });

  it('that are not declared are refused without asking, and the source is closed', async () => {
    const body = `let closed = false; const source = (async function* () { try { yield 'x' } finally { closed = true } })(); await source.next(); try { await ctx.files.write('a', source) } catch (e) { return [e.code, closed] }`;
    const got = await run(node(body), { limits: { filesCount: 0, filesBytes: 0 } });
    expect(got.outcome).toMatchObject({ output: ['FILES_NOT_DECLARED', true] });
    expect(got.files).toEqual([]);
  });

  it('that the host refuses while they are sent reject with its code, and the source is closed', async () => {
    const body = `let closed = false; const source = (async function* () { try { for (;;) yield new Uint8Array(65536) } finally { closed = true } })(); try { await ctx.files.write('a', source) } catch (e) { return [e.code, closed] }`;
    const got = await run(node(body), {
      onStream: (stream, path) => {
        if (path !== '/files/a') return false;
        void answer(stream, 413, JSON.stringify({ code: 'FILES_LIMIT' }));
        return true;
      },
    });
    expect(got.outcome).toMatchObject({ output: ['FILES_LIMIT', true] });
  });

  it('whose source throws are given up, and the error is the one of the source', async () => {
    const reset = vi.fn();
    const got = await run(
      node(
        `try { await ctx.files.write('a', (function* () { yield 'x'; throw new RangeError('mine') })()) } catch (e) { return e.message }`,
      ),
      {
        onStream: (stream, path) => {
          if (path !== '/files/a') return false;
          stream.signal.addEventListener('abort', reset);
          return true;
        },
      },
    );
    expect(got.outcome).toMatchObject({ output: 'mine' });
    expect(reset).toHaveBeenCalledOnce();
  });

  it('whose sources throw, a hundred in one turn of the event loop, do not take the room of the result', async () => {
    const body = `
      for (let i = 0; i < 100; i++) {
        const broken = (function* () { yield 'a'; ctx.log.info('sends what waits'); throw new Error('mine ' + i); })();
        await ctx.files.write('f' + i, broken).then(() => { throw new Error('written') }, (error) => { if (error.message !== 'mine ' + i) throw error });
      }
      return 'done'`;
    const got = await run(node(body));
    expect(got.outcome).toMatchObject({ output: 'done' });
  });

  it('may be a hundred at once', async () => {
    const got = await run(
      node(
        `return (await Promise.all(Array.from({ length: 100 }, (_, i) => ctx.files.write('f' + i, 'x' + i)))).length`,
      ),
      { limits: { filesCount: 100 } },
    );
    expect(got.outcome).toMatchObject({ output: 100 });
    expect(new Set(got.files.map(({ name, content }) => `${name}=${content}`)).size).toBe(100);
  });
});

describe('cancel', () => {
  const cancelled = async (body: string) => {
    const running = start(harness, node(body));
    await vi.waitUntil(() => running.logs.length > 0, { timeout: 30_000 });
    running.cancel('by the user');
    return running.ended;
  };

  it('fires ctx.signal with its reason', async () => {
    const got = await cancelled(
      `const fired = new Promise((r) => ctx.signal.addEventListener('abort', r)); ctx.log.info('up'); const t = setInterval(() => {}, 1000); await fired; clearInterval(t); return [ctx.signal.aborted, ctx.signal.reason.code, ctx.signal.reason.message]`,
    );
    expect(got.outcome).toMatchObject({ output: [true, 'CANCELLED', 'by the user'] });
  });

  it('ends ctx.clock.sleep, and a handler that lets it through fails as CANCELLED', async () => {
    const got = await cancelled(`ctx.log.info('up'); await ctx.clock.sleep(60_000)`);
    expect(got.outcome).toMatchObject({ kind: 'error', error: { code: 'CANCELLED', message: 'by the user' } });
  });

  it('is not seen by a handler that never looks, which the host then kills', async () => {
    const running = start(
      harness,
      node(`ctx.log.info('up'); setInterval(() => {}, 1000); await new Promise(() => {})`),
    );
    await vi.waitUntil(() => running.logs.length > 0, { timeout: 30_000 });
    running.cancel('by the user');
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.kill(running.pid, 'SIGKILL');
    expect((await running.ended).outcome).toMatchObject({ kind: 'exit', signal: 'SIGKILL' });
  });

  it('by a signal of the node ends a sleep with the reason of that signal', async () => {
    const got = await run(
      node(
        `const c = new AbortController(); setTimeout(() => c.abort(new RangeError('mine')), 5); try { await ctx.clock.sleep(60_000, { signal: c.signal }) } catch (e) { return [e.message, await ctx.clock.sleep(5, { signal: c.signal }).catch((e) => e.name), await ctx.clock.sleep(5)] }`.replace(
          'await ctx.clock.sleep(5)]',
          '(await ctx.clock.sleep(5)) === undefined]',
        ),
      ),
    );
    expect(got.outcome).toMatchObject({ output: ['mine', 'RangeError', true] });
  });
});
