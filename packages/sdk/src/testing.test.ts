import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { defineNode, type NodeContext, NodeError } from './index.ts';
import { createTestContext, runNode } from './testing.ts';

const codeOf = (call: () => unknown) =>
  Promise.resolve()
    .then(call)
    .then(
      () => 'taken',
      (error: unknown) => (NodeError.is(error) ? error.code : (error as Error).name),
    );

describe('runNode', () => {
  it('gives output, logs, files and progress', async () => {
    const node = defineNode<{ n: number }, { by?: number }, { n: number }>(async (ctx) => {
      ctx.log.info('begins', { big: 1n });
      ctx.progress(0.5);
      ctx.progress({ message: 'nearly' });
      await ctx.files.write('a.txt', 'é', 'text/plain');
      return { n: ctx.input.n * (ctx.config.by ?? 2) };
    });
    const result = await runNode(node, { input: { n: 4 } });
    expect(result).toMatchObject({
      ok: true,
      output: { n: 8 },
      outputText: '{"n":8}',
      logs: [{ level: 'info', message: 'begins', fields: { big: '1n' } }],
      progress: [{ fraction: 0.5 }, { message: 'nearly' }],
      files: [
        {
          name: 'a.txt',
          mediaType: 'text/plain',
          text: 'é',
          sizeBytes: 2,
          digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        },
      ],
    });
  });

  it.each<[string, () => unknown, object]>([
    [
      'a NodeError',
      () => {
        throw new NodeError('GONE', 'it is', { retryable: true, retryAfter: '2s', details: { id: 1 } });
      },
      { code: 'GONE', message: 'it is', retryable: true, retryAfterMs: 2000, details: { id: 1 } },
    ],
    [
      'any other error',
      () => {
        throw new RangeError('far');
      },
      { code: 'NODE_FAILED', message: 'RangeError: far' },
    ],
    [
      'null',
      () => {
        throw null;
      },
      { code: 'NODE_FAILED' },
    ],
    [
      'a full disk',
      () => {
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      },
      { code: 'SCRATCH_FULL' },
    ],
    ['an output that is no JSON', () => ({ a: [new Date()] }), { code: 'OUTPUT_NOT_JSON', place: '/a/0' }],
    ['an output that is too long', () => 'x'.repeat(300_000), { code: 'OUTPUT_TOO_LARGE' }],
  ])('tells %s as a run would', async (_, body, error) => {
    const result = await runNode(defineNode(async () => body() as never));
    expect(result).toMatchObject({ ok: false, error });
  });

  it('refuses what is no node and options that are no JSON', async () => {
    expect(await codeOf(() => runNode({} as never))).toBe('TypeError');
    expect(await codeOf(() => runNode(async () => 1, { input: { at: new Date() } }))).toBe('TypeError');
    expect(await codeOf(() => runNode(async () => 1, { input: { at: 'now' } }))).toBe('taken');
    expect(() => defineNode('x' as never)).toThrow(TypeError);
  });
});

describe('the test context', () => {
  it('freezes a copy of input and config, and keeps __proto__ as data', () => {
    const input = JSON.parse('{"a":{"b":[1]},"__proto__":{"x":1}}') as { a: { b: number[] } };
    const { ctx } = createTestContext({ input });
    expect(() => ctx.input.a.b.push(2)).toThrow(TypeError);
    expect(Object.hasOwn(ctx.input, '__proto__')).toBe(true);
    expect((ctx.input as { x?: number }).x).toBeUndefined();
    input.a.b.push(2);
    expect(ctx.input.a.b).toEqual([1]);
  });

  it('has a clock that moves only when it is moved', async () => {
    const { ctx, clock } = createTestContext({ now: '2026-03-01T00:00:00Z' });
    const start = Date.parse('2026-03-01T00:00:00Z');
    expect(ctx.clock.now()).toBe(start);
    await ctx.clock.sleep(3_600_000);
    clock.advance(1);
    expect(ctx.clock.now()).toBe(start + 3_600_001);
  });

  it('can be cancelled', async () => {
    const { ctx, cancel } = createTestContext();
    const sleeping = ctx.clock.sleep(1000);
    cancel('enough');
    expect(await codeOf(() => sleeping)).toBe('CANCELLED');
    expect(ctx.signal.aborted).toBe(true);
  });

  it('takes only documented types, as a cell does', async () => {
    const { ctx, files, logs } = createTestContext();
    const calls: (() => unknown)[] = [
      () => ctx.log.info({} as never),
      () => ctx.log.info('x', 'y' as never),
      () => ctx.progress('1' as never),
      () => ctx.files.write(new URL('file:///etc/passwd') as never, 'x'),
      () => ctx.files.write('a', { path: '/etc/passwd' } as never),
      () => ctx.files.write('a', [1] as never),
      () => ctx.files.write('a', 'x', {} as never),
      () => ctx.clock.sleep('1' as never),
      () => ctx.clock.sleep(1, { signal: {} as never }),
    ];
    for (const call of calls) expect(await codeOf(call)).toBe('TypeError');
    expect([files, logs]).toEqual([[], []]);
    expect(await codeOf(() => ctx.progress(2))).toBe('RangeError');
  });

  it('limits files as declared, counts each once, and closes a stream that it refuses', async () => {
    const { ctx, files } = createTestContext({ files: { maxBytes: 4, maxCount: 2 } });
    expect(await codeOf(() => ctx.files.write('../a', 'x'))).toBe('FILE_NAME_REFUSED');
    expect(await ctx.files.write('a', Readable.from([Buffer.from('xy')]))).toMatchObject({ sizeBytes: 2 });
    expect(await codeOf(() => ctx.files.write('a', 'x'))).toBe('FILE_NAME_REFUSED');
    let closed = false;
    const endless = (function* () {
      try {
        for (;;) yield 'z';
      } finally {
        closed = true;
      }
    })();
    expect(await codeOf(() => ctx.files.write('b', endless))).toBe('FILES_LIMIT');
    expect(closed).toBe(true);
    expect(files.map(({ name }) => name)).toEqual(['a']);
    expect(await codeOf(() => createTestContext({ files: 'none' }).ctx.files.write('a', 'x'))).toBe(
      'FILES_NOT_DECLARED',
    );
  });

  it('has a scratch directory that is there', () => {
    const { ctx } = createTestContext();
    writeFileSync(join(ctx.scratch, 'x'), '1');
    expect(existsSync(join(ctx.scratch, 'x'))).toBe(true);
  });

  it('answers what comes later as a cell does', async () => {
    const later = createTestContext().ctx as unknown as NodeContext & {
      credentials: { has(slot: string): boolean; reveal(slot: string): Promise<string> };
    };
    expect(await codeOf(() => later.credentials.has('api'))).toBe('NOT_AVAILABLE_YET');
    expect(await codeOf(() => later.credentials.reveal('api'))).toBe('NOT_AVAILABLE_YET');
  });
});

describe('NodeError', () => {
  it.each([['lower'], [''], ['A B'], ['X'.repeat(101)], [7], [{ toString: () => 'OK' }]])(
    'refuses the code %j',
    (code) => {
      expect(() => new NodeError(code as string, 'x')).toThrow(TypeError);
    },
  );

  it('takes durations as numbers and text, up to a day', () => {
    const wait = (retryAfter: number | string) => new NodeError('X', 'x', { retryAfter }).retryAfterMs;
    expect([wait(5), wait('250ms'), wait('30s'), wait('2m')]).toEqual([5, 250, 30_000, 120_000]);
    for (const bad of ['1h', '30', -1, Number.NaN, 86_400_001]) expect(() => wait(bad)).toThrow(TypeError);
  });

  it('is told by its mark, across copies of the class', async () => {
    const copy = (await import(`${new URL('./node-error.ts', import.meta.url).href}?copy`)) as {
      NodeError: typeof NodeError;
    };
    const error = new copy.NodeError('X', 'x');
    expect(error instanceof NodeError).toBe(false);
    expect(NodeError.is(error)).toBe(true);
    expect(NodeError.is(error, 'Y')).toBe(false);
    expect(NodeError.is(new Error('x'))).toBe(false);
    expect(NodeError.is(null)).toBe(false);
  });
});
