import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Attempt, attempt, type BuiltHarness, buildHarness, type HostOptions, start } from './host.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

const overPipes = (options: HostOptions = {}): HostOptions => ({ ...options, wiring: 'stdio' });
const run = (bundle: string, options?: HostOptions): Promise<Attempt> => attempt(harness, bundle, overPipes(options));
const node = (body: string, before = ''): string => `${before}\nexport default async (ctx) => {${body}\n};`;
const fs = `const fs = process.getBuiltinModule('fs');`;

describe('a cell whose channel came by its standard streams', () => {
  it('has all that others have', async () => {
    const got = await run(
      node(`
        ctx.log.info('logged');
        console.log('printed');
        ctx.progress(0.5, 'half');
        const stored = await ctx.files.write('a.bin', Buffer.alloc(1_000_000, 'x'));
        await ctx.clock.sleep(30);
        return { input: ctx.input.k[0].length, size: stored.sizeBytes };`),
      { input: { k: ['v'.repeat(500_000)] } },
    );
    expect(got.outcome).toMatchObject({ output: { input: 500_000, size: 1_000_000 } });
    expect(got.logs.map(({ source, message }) => `${source} ${message}`)).toEqual(['node logged', 'console printed']);
    expect(got.progress).toEqual([{ fraction: 0.5, message: 'half' }]);
    expect(got).toMatchObject({ channelEnd: 'closed', results: 1, raw: '' });
  });

  it('hears of a cancellation while it waits for something else', async () => {
    const running = start(
      harness,
      node(
        `return await new Promise((r) => { setTimeout(r, 60_000); ctx.signal.addEventListener('abort', () => r('heard')); })`,
      ),
      overPipes(),
    );
    await vi.waitUntil(running.isLoaded, { timeout: 20_000 });
    running.cancel('by hand');
    expect((await running.ended).outcome).toMatchObject({ output: 'heard' });
  });

  it('ends by itself when the host lets the channel go', async () => {
    const running = start(harness, node('return await new Promise((r) => setTimeout(r, 60_000))'), overPipes());
    await vi.waitUntil(running.isLoaded, { timeout: 20_000 });
    running.hangUp();
    expect((await running.ended).outcome).toMatchObject({ kind: 'exit', code: 1 });
  });

  it('has nothing to read on fd 0, and what it writes to fds 1 and 2 never gets into the channel', async () => {
    const { outcome, raw, channelEnd } = await run(
      node(`${fs}
        for (const fd of [1, 2]) fs.writeSync(fd, 'raw ' + fd + '\\n');
        let told; try { fs.writeSync(0, 'x'); told = 'written'; } catch (e) { told = e.code; }
        return { read: fs.readSync(0, Buffer.alloc(10)), told };`),
    );
    expect(outcome).toMatchObject({ output: { read: 0, told: 'EBADF' } });
    expect(raw).toBe('raw 1\nraw 2\n');
    expect(channelEnd).toBe('closed');
  });
});

describe('only its own attempt ends when the node', () => {
  it.each([
    [
      'writes to the descriptor that the channel is written to',
      'fs.writeSync(4, Buffer.alloc(64_000, 255))',
      'corrupted',
    ],
    [
      'writes a frame that the host did not ask for',
      `fs.writeSync(4, Buffer.from('000000040900000000000000deadbeef', 'hex'))`,
      'abuse',
    ],
    ['closes the descriptor that the channel is written to', 'fs.closeSync(4)', 'closed'],
  ])('%s', async (_, deed, channelEnd) => {
    const got = await run(
      node(`${fs} ${deed}; await new Promise((r) => setTimeout(r, 100)); ctx.log.info('more'); return 1`),
    );
    expect(got.outcome.kind).toBe('exit');
    expect(got).toMatchObject({ results: 0, channelEnd });
  });

  it.each([
    ['takes the words of the host away', 'try { fs.readSync(3, Buffer.alloc(1000)) } catch {}'],
    ['closes the descriptor that the channel is read from', 'fs.closeSync(3)'],
    ['writes to the descriptor that the channel is read from', 'try { fs.writeSync(3, Buffer.alloc(100)) } catch {}'],
  ])('%s, or nothing does', async (_, deed) => {
    const got = await run(node(`${fs} await new Promise((r) => setTimeout(r, 50)); ${deed}; return 1`));
    expect(['output', 'exit']).toContain(got.outcome.kind);
    expect(got.channelEnd).toBe('closed');
  });
});
