import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyRun } from '@glovebox/engine';
import { describe, expect, it } from 'vitest';
import type { RunOptions, TestRun } from '../support/engine.ts';
import type { NodeSource } from '../support/node-package.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

/** Run a node and cancel it when it logs `now`. */
function cancelled(source: NodeSource, reason = 'no longer wanted', options: RunOptions = {}): Promise<TestRun> {
  const controller = new AbortController();
  return cells().run(source, {
    ...options,
    signal: controller.signal,
    events: { onLog: ({ message }) => message === 'now' && controller.abort(reason) },
  });
}

async function expectCancelled(result: TestRun): Promise<void> {
  expect(result).toMatchObject({ state: 'CANCELLED', error: { code: 'CANCELLED' }, output: null, files: [] });
  const { engine, dataDir } = cells();
  const key = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
  const { statement } = await verifyRun(engine, 'default', result.run, [key]);
  expect(statement.predicate.observed).toMatchObject({
    state: 'CANCELLED',
    errorCode: 'CANCELLED',
    outputDigest: null,
  });
  const journal = await engine.store.journal(result.run);
  expect(journal.map(({ to }) => to)).toEqual(['QUEUED', 'RUNNING', 'CANCELLED']);
}

describe('cancel during a long call', () => {
  it('fires the signal in the node, with the reason, and the node can wind up', async () => {
    const result = await cancelled({
      body: `
        ctx.signal.addEventListener('abort', () => { ctx.log.info('heard', { reason: ctx.signal.reason.message, code: ctx.signal.reason.code, aborted: ctx.signal.aborted }); });
        ctx.log.info('now');
        const call = setTimeout(() => {}, 600_000);
        await new Promise((done) => ctx.signal.addEventListener('abort', () => setTimeout(done, 100)));
        clearTimeout(call);
        ctx.log.info('wound up');
        return 'too late';`,
    });
    await expectCancelled(result);
    expect(result.error?.message).toContain('no longer wanted');
    expect(result.logs.map(({ message }) => message)).toEqual(['now', 'heard', 'wound up']);
    expect(result.logs[1]?.fields).toEqual({ reason: 'no longer wanted', code: 'CANCELLED', aborted: true });
  });

  it('wakes a sleep of the context, and one with a signal of its own', async () => {
    for (const sleep of [
      'ctx.clock.sleep(600_000)',
      'ctx.clock.sleep(600_000, { signal: new AbortController().signal })',
    ]) {
      const result = await cancelled({
        body: `ctx.log.info('now'); try { await ${sleep}; } catch (e) { ctx.log.info('woken', { code: e.code }); throw e; }`,
      });
      await expectCancelled(result);
      expect(result.logs.at(-1)).toMatchObject({ message: 'woken', fields: { code: 'CANCELLED' } });
    }
  });

  it.each([
    [
      'ignores the signal',
      `ctx.log.info('now'); ctx.signal.addEventListener('abort', () => {}); await new Promise((r) => setTimeout(r, 600_000));`,
    ],
    ['is in a loop', `ctx.log.info('now'); for (;;) {}`],
    [
      'throws from its listener',
      `ctx.signal.addEventListener('abort', () => { throw new Error('from the listener'); }); ctx.log.info('now'); await new Promise((r) => setTimeout(r, 600_000));`,
    ],
    [
      'begins anew when it hears it',
      `ctx.signal.addEventListener('abort', () => { for (;;) {} }); ctx.log.info('now'); await new Promise((r) => setTimeout(r, 600_000));`,
    ],
    ['blocks in a native call', `ctx.log.info('now'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`],
  ])('kills a node that %s, after the grace', async (_, body) => {
    const result = await cancelled({ body, manifest: { resources: { timeout: '120s' } } });
    await expectCancelled(result);
    expect(result.logs[0]?.message).toBe('now');
  });

  it('is what the attempt ends by, also when the node succeeds or fails within the grace', async () => {
    for (const end of [`return 'done'`, `throw new Error('own')`, `process.exit(0)`]) {
      const result = await cancelled({
        body: `setTimeout(() => {}, 600_000); ctx.log.info('now'); await new Promise((done) => ctx.signal.addEventListener('abort', done)); ${end}`,
      });
      await expectCancelled(result);
    }
  });

  it('is not what it ends by when the result was there before', async () => {
    const controller = new AbortController();
    const result = await cells().run({ body: 'return 1' }, { signal: controller.signal });
    controller.abort();
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: 1 });
  });
});

describe('cancel at any step', () => {
  it.each(['read', 'check', 'bundle', 'boot', 'load', 'run'] as const)(
    '%s ends typed, and leaves no cell',
    async (step) => {
      const controller = new AbortController();
      const outcome = await cells()
        .run(
          { body: `await ctx.clock.sleep(60_000); return 1`, id: `cancelled-${step}` },
          { signal: controller.signal, events: { onStep: (name) => name === step && controller.abort('stopped') } },
        )
        .then(
          ({ state }) => state,
          (error: { code?: string }) => error.code,
        );
      expect(['CANCELLED', 'INTERRUPTED']).toContain(outcome);
      const unended = (await cells().engine.store.list({ project: 'default', limit: 1000 })).filter(({ state }) =>
        ['QUEUED', 'RUNNING'].includes(state),
      );
      expect(unended).toEqual([]);
    },
  );
});
