import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openTestEngine } from '../support/engine.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

describe('ten runs at once', () => {
  it('in one engine each give their own, and see nothing of each other', async () => {
    const node = {
      body: `
        const fs = process.getBuiltinModule('fs');
        const before = fs.readdirSync('/tmp');
        fs.writeFileSync('/tmp/' + ctx.input.secret, ctx.input.secret);
        ctx.log.info(ctx.input.secret);
        await ctx.files.write('mine.txt', ctx.input.secret);
        ctx.progress(0.5, ctx.input.secret.slice(0, 8));
        await ctx.clock.sleep(500);
        return { before, now: fs.readdirSync('/tmp'), secret: ctx.input.secret, ids: ctx.ids };`,
      manifest: { capabilities: { files: { maxBytes: '1KiB' } }, resources: { timeout: '60s' } },
    };
    const secrets = Array.from({ length: 10 }, () => randomBytes(16).toString('hex'));
    const progress: string[][] = secrets.map(() => []);
    const results = await Promise.all(
      secrets.map((secret, i) =>
        cells().run(node, {
          input: { secret },
          events: { onProgress: ({ message }) => progress[i]?.push(message ?? '') },
        }),
      ),
    );
    for (const [i, result] of results.entries()) {
      const secret = secrets[i] as string;
      expect(result).toMatchObject({
        state: 'SUCCEEDED',
        output: { before: [], now: [secret], secret, ids: { run: result.run, attempt: result.attempt } },
      });
      expect(result.logs.map(({ message }) => message)).toEqual([secret]);
      expect(await result.file('mine.txt')).toBe(secret);
      expect(new Set(progress[i])).toEqual(new Set([secret.slice(0, 8)]));
    }
    expect(new Set(results.map(({ run }) => run)).size).toBe(10);
    expect(new Set(results.map(({ attempt }) => attempt)).size).toBe(10);
  });

  it('of which half are hostile leave the other half alone', async () => {
    const hostile = [
      `for (;;) {}`,
      `const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));`,
      `process.abort()`,
      `const fs = process.getBuiltinModule('fs'); for (;;) try { fs.writeSync(3, 'garbage') } catch {}`,
      `const fs = process.getBuiltinModule('fs'); for (;;) try { fs.writeSync(1, Buffer.alloc(65536, 65)) } catch {}`,
    ];
    const resources = { timeout: '5s', memory: '64MiB' };
    const [bad, good] = await Promise.all([
      Promise.all(hostile.map((body) => cells().run({ body, manifest: { resources } }))),
      Promise.all(
        [1, 2, 3, 4, 5].map((n) =>
          cells().run(
            { body: `await ctx.clock.sleep(300); return ctx.input.n * 2`, manifest: { resources: { timeout: '60s' } } },
            { input: { n } },
          ),
        ),
      ),
    ]);
    expect(bad.map(({ state }) => state)).toEqual([
      'TIMED_OUT',
      'OUT_OF_MEMORY',
      'CRASHED',
      'CHANNEL_CORRUPTED',
      'LOG_FLOOD',
    ]);
    expect(good.map(({ state, output }) => [state, output])).toEqual([1, 2, 3, 4, 5].map((n) => ['SUCCEEDED', n * 2]));
  });

  it('in two engines on one host do not sweep each other away', async () => {
    const node = {
      body: `ctx.log.info('begun'); await ctx.clock.sleep(2000); return 'whole'`,
      manifest: { resources: { timeout: '60s' } },
    };
    let begun = (): void => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const running = cells().run(node, { events: { onLog: () => begun() } });
    await started;
    // Opening an engine sweeps what dead owners left.
    const other = await openTestEngine();
    try {
      await other.engine.driver.sweep();
      expect((await other.run({ body: 'return 1' })).output).toBe(1);
    } finally {
      await other.close();
    }
    expect(await running).toMatchObject({ state: 'SUCCEEDED', output: 'whole' });
  });
});
