import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { verifyRun } from '@glovebox/engine';
import { describe, expect, it } from 'vitest';
import type { TestRun } from '../support/engine.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const kib = 1024;
const limit = 64 * kib;
const manifest = { resources: { logs: '64KiB', timeout: '60s' } };

/** What was kept is within the limit, ends with the host's remark, and is what the receipt has. */
async function expectCut({ run, logs }: TestRun): Promise<void> {
  const kept = logs.filter(({ source }) => source !== 'host');
  const bytes = kept.reduce(
    (sum, { message, fields }) => sum + message.length + (fields === undefined ? 0 : JSON.stringify(fields).length),
    0,
  );
  expect(bytes).toBeLessThanOrEqual(limit);
  expect(bytes).toBeGreaterThan(limit / 2);
  expect(logs.filter(({ source }) => source === 'host').map(({ message }) => message)).toEqual([
    `log limit of ${limit} bytes reached; the rest is dropped`,
  ]);
  expect(Math.max(...kept.map(({ message }) => message.length))).toBeLessThanOrEqual(64 * kib);
  await expectVerified(run);
}

async function expectVerified(run: string): Promise<void> {
  const { engine, dataDir } = cells();
  const key = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
  await expect(verifyRun(engine, 'default', run, [key])).resolves.toBeDefined();
}

const storeBytes = (): number =>
  ['', '-wal'].reduce((sum, end) => sum + statSync(join(cells().dataDir, `glovebox.db${end}`)).size, 0);

describe('a flood', () => {
  it.each([
    [
      'of 2 GB without a line break on fd 1',
      `for (let i = 0; i < 32768; i++) fs.writeSync(1, Buffer.alloc(65536, 120));`,
    ],
    [
      'of lines on fd 2',
      `for (let i = 0; i < 32768; i++) fs.writeSync(2, 'warning: this is a line of the flood\\n'.repeat(1800));`,
    ],
    ['of bytes that are no text', `for (let i = 0; i < 32768; i++) fs.writeSync(1, Buffer.alloc(65536, 255));`],
  ])('%s ends LOG_FLOOD, and the host keeps what the limit admits', async (_, body) => {
    const before = storeBytes();
    const run = await cells().run({
      top: `import nodeFs from 'node:fs'; const fs = { writeSync(fd, data) { for (;;) try { return nodeFs.writeSync(fd, data) } catch (e) { if (e.code !== 'EAGAIN') throw e } } };`,
      body: `${body} return 'all of it'`,
      manifest,
    });
    expect(run).toMatchObject({ state: 'LOG_FLOOD', error: { code: 'LOG_FLOOD' }, output: null });
    expect(run.logs.at(-1)?.source).toBe('host');
    const characters = run.logs.reduce((sum, { message }) => sum + message.length, 0);
    expect(characters).toBeLessThanOrEqual(limit + 100);
    expect(storeBytes() - before).toBeLessThan(8 * kib * kib);
    await expectVerified(run.run);
  });

  it.each([
    ['console', `for (let i = 0; i < 20000; i++) console.log('line', i);`],
    ['ctx.log', `for (let i = 0; i < 20000; i++) ctx.log.info('line', { i });`],
    ['process.stdout, as one line', `for (let i = 0; i < 2000; i++) process.stdout.write('x'.repeat(1024));`],
    ['console, with one line of 16 MiB', `console.log('x'.repeat(60000)); console.log('x'.repeat(16 << 20));`],
  ])('through %s is cut, and the node goes on', async (_, body) => {
    const run = await cells().run({ body: `${body} return 'done'`, manifest });
    expect(run).toMatchObject({ state: 'SUCCEEDED', output: 'done' });
    await expectCut(run);
  });

  it('of progress is merged, and its last report arrives', async () => {
    const seen: number[] = [];
    const run = await cells().run(
      {
        body: `for (let i = 0; i <= 100000; i++) ctx.progress(i / 100000); await ctx.clock.sleep(300); return 1`,
        manifest,
      },
      { events: { onProgress: ({ fraction }) => seen.push(fraction ?? -1) } },
    );
    expect(run.state).toBe('SUCCEEDED');
    expect(seen.at(-1)).toBe(1);
    expect(seen.length).toBeLessThan(20);
  });

  it('that is none is kept, every line in its order', async () => {
    const run = await cells().run({
      body: `for (let i = 0; i < 500; i++) { console.log('c' + i); ctx.log.debug('n' + i); } return 1`,
      manifest,
    });
    expect(run.logs.map(({ message }) => message)).toEqual(
      Array.from({ length: 500 }, (_, i) => [`c${i}`, `n${i}`]).flat(),
    );
    await expectVerified(run.run);
  });
});

describe('a node that has given its result', () => {
  it('changes nothing by what it says, writes and reports after that', async () => {
    const run = await cells().run({
      body: `
        setInterval(() => {
          ctx.log.info('late'); console.log('late'); ctx.progress(1, 'late');
          ctx.files.write('late.txt', 'late').catch(() => {});
        }, 0);
        process.on('exit', () => console.log('late'));
        ctx.log.info('in time');
        return 1;`,
      manifest: { ...manifest, capabilities: { files: { maxBytes: '1KiB' } } },
    });
    expect(run).toMatchObject({ state: 'SUCCEEDED', output: 1, error: null, files: [] });
    expect(run.logs.map(({ message }) => message)).toEqual(['in time']);
    await expectVerified(run.run);
  });

  it('has its last words kept when it fails', async () => {
    const run = await cells().run({
      body: `process.stdout.write('without a line break'); process.stderr.write('nor this'); throw new Error('x');`,
    });
    expect(run.logs.map(({ source, message }) => [source, message])).toEqual([
      ['stdout', 'without a line break'],
      ['stderr', 'nor this'],
    ]);
  });
});
