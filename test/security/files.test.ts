import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { attempting, gains } from '../support/attempts.ts';
import { useEngine } from '../support/use-engine.ts';
import { withoutFlags } from '../support/without-flags.ts';

const cells = useEngine();
const open = useEngine(withoutFlags);
const dir = mkdtempSync(join(tmpdir(), 'glovebox-canary-'));
const canaryPath = join(dir, 'canary');
const canary = randomBytes(24).toString('hex');
writeFileSync(canaryPath, canary);
afterAll(() => rmSync(dir, { recursive: true }));

const declared = (maxBytes: string, maxCount = 10) => ({ capabilities: { files: { maxBytes, maxCount } } });

describe('files of a run', () => {
  it('are stored by their digest, listed on the attempt, and read back as they were', async () => {
    const result = await cells().run({
      body: `
        await ctx.files.write('a.txt', 'grüße', 'text/plain; charset=utf-8');
        const stored = await ctx.files.write('b.bin', new Uint8Array(100_000).map((_, i) => i), 'application/x-made-up');
        await ctx.files.write('empty', '');
        return stored;`,
      manifest: declared('1MiB'),
    });
    const bytes = Buffer.from(new Uint8Array(100_000).map((_, i) => i));
    const digest = (content: string | Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
    const files = [
      { name: 'a.txt', mediaType: 'text/plain; charset=utf-8', digest: digest('grüße'), sizeBytes: 7 },
      { name: 'b.bin', mediaType: 'application/x-made-up', digest: digest(bytes), sizeBytes: 100_000 },
      { name: 'empty', mediaType: 'application/octet-stream', digest: digest(''), sizeBytes: 0 },
    ];
    expect(result.files).toEqual(files);
    expect(result.output).toEqual({ digest: digest(bytes), sizeBytes: 100_000 });
    const stored = await cells().engine.store.get('default', result.run);
    expect(stored?.attempts.at(-1)?.end?.files).toEqual(files);
    expect(await result.file('a.txt')).toBe('grüße');
    const hex = digest('grüße').slice('sha256:'.length);
    expect(readFileSync(join(cells().dataDir, 'blobs/sha256', hex.slice(0, 2), hex), 'utf8')).toBe('grüße');
  });

  it('are limited in size and in number, over all of them, and what was stored before stays', async () => {
    const { output, files, state } = await cells().run({
      ...attempting({
        'within the size': `return (await ctx.files.write('a', 'x'.repeat(600))).sizeBytes`,
        'over the size with what is there': `await ctx.files.write('b', 'x'.repeat(600))`,
        'over the size by a stream without end': `await ctx.files.write('c', (function* () { for (;;) yield 'x'.repeat(1000); })())`,
        'under a name that is taken': `await ctx.files.write('a', 'y')`,
      }),
      manifest: declared('1000B', 4),
    });
    expect({ output, state }).toEqual({
      output: {
        'within the size': { got: 600 },
        'over the size with what is there': 'FILES_LIMIT',
        'over the size by a stream without end': 'FILES_LIMIT',
        'under a name that is taken': 'FILE_NAME_REFUSED',
      },
      state: 'SUCCEEDED',
    });
    expect(files.map(({ name }) => name)).toEqual(['a']);
    const many = await cells().run({
      body: `const all = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => ctx.files.write('f' + i, 'x'))); return all.map(({ status, reason }) => reason?.code ?? status)`,
      manifest: declared('1KiB', 3),
    });
    const codes = many.output as unknown as string[];
    expect(codes.filter((code) => code === 'fulfilled')).toHaveLength(3);
    expect(codes.filter((code) => code === 'FILES_LIMIT')).toHaveLength(37);
    expect(many.files).toHaveLength(3);
  });

  it('are refused where the manifest declares none', async () => {
    const { error, files } = await cells().run({ body: `await ctx.files.write('a', 'x'); return 1` });
    expect(error).toMatchObject({ code: 'FILES_NOT_DECLARED' });
    expect(files).toEqual([]);
  });

  it('that never end, or end with an error, are no files', async () => {
    const result = await cells().run({
      body: `
        void ctx.files.write('unfinished', (async function* () { yield 'a'; await new Promise(() => {}); })()).catch(() => {});
        await ctx.files.write('failed', (async function* () { yield 'a'; throw new Error('own'); })()).catch(() => {});
        await ctx.files.write('fine', 'b');
        return 1;`,
      manifest: declared('1KiB'),
    });
    expect(result.state).toBe('SUCCEEDED');
    expect(result.files.map(({ name }) => name)).toEqual(['fine']);
  });
});

describe.each([
  ['with', cells],
  ['without', open],
] as const)('what lies in scratch, %s the refusals of Node.js,', (_, engine) => {
  it('is no file of the run, however it is called', async () => {
    const result = await engine().run({
      body: `
        const fs = process.getBuiltinModule('fs');
        for (const name of ['result.json', 'output.json', 'out', 'files', 'artifact', 'core', '.glovebox']) fs.writeFileSync('/tmp/' + name, '{"forged":true}');
        return 'as returned';`,
      manifest: declared('1KiB'),
    });
    expect(result).toMatchObject({ output: 'as returned', files: [] });
  });

  it('cannot be a link or a device, and one swapped while it is read brings nothing of the host', async () => {
    const { output, ...result } = await engine().run(
      {
        ...attempting({
          'a symbolic link': `fs.symlinkSync(ctx.input.path, '/tmp/link')`,
          'a hard link': `fs.linkSync('/glovebox/harness.cjs', '/tmp/hard')`,
          'a hard link in scratch': `fs.writeFileSync('/tmp/x', ''); fs.linkSync('/tmp/x', '/tmp/y')`,
          'the canary by its path': `return fs.readFileSync(ctx.input.path, 'utf8')`,
          'the canary through /proc': `return fs.readFileSync('/proc/self/root' + ctx.input.path, 'utf8')`,
          'the canary through the working directory': `return fs.readFileSync('/proc/self/cwd/../../../..' + ctx.input.path, 'utf8')`,
          'the canary by a stream': `await ctx.files.write('canary', fs.createReadStream(ctx.input.path))`,
          'the canary by a URL': `return fs.readFileSync(new URL('file://' + ctx.input.path), 'utf8')`,
          'the canary as bytes of a path': `return fs.readFileSync(Buffer.from(ctx.input.path), 'utf8')`,
          'the canary by opendir': `return fs.opendirSync(ctx.input.path.replace(/\\/canary$/, '')).readSync().name`,
          'the canary by copy': `fs.cpSync(ctx.input.path, '/tmp/copy')`,
          'the canary by realpath': `return fs.realpathSync.native(ctx.input.path)`,
          'the canary by watching': `fs.watch(ctx.input.path)`,
          'the canary by statfs': `return fs.statfsSync(ctx.input.path).bsize`,
          'existence of the canary': `if (!fs.existsSync(ctx.input.path)) throw { code: 'ENOENT' }`,
        }),
        manifest: declared('1MiB'),
      },
      { input: { path: canaryPath } },
    );
    expect(gains(output)).toEqual({});
    expect(result.files).toEqual([]);
  });

  it('is sent as it was read, while it is replaced again and again', async () => {
    const result = await engine().run({
      body: `
        const fs = process.getBuiltinModule('fs');
        let stop = false, n = 0;
        const flip = async () => { for (; !stop; n++) { try { fs.rmSync('/tmp/flip', { force: true, recursive: true }); if (n % 2) fs.mkdirSync('/tmp/flip'); else fs.writeFileSync('/tmp/flip', 'a'.repeat(10)); } catch {} await new Promise((r) => setImmediate(r)); } };
        const flipping = flip();
        let sent = 0;
        for (let i = 0; i < 50; i++) { try { await ctx.files.write('flip' + i, fs.createReadStream('/tmp/flip')); sent++; } catch {} await new Promise((r) => setImmediate(r)); }
        stop = true; await flipping;
        return { sent, flipped: n > 20 };`,
      manifest: declared('1MiB', 50),
    });
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: { flipped: true } });
    for (const { sizeBytes } of result.files) expect([0, 10]).toContain(sizeBytes);
    const { sent } = result.output as { sent: number };
    expect(sent).toBeGreaterThan(0);
    expect(result.files).toHaveLength(sent);
  });
});
