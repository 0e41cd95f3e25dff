import { describe, expect, it } from 'vitest';
import type { TestRun } from '../support/engine.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

/** What no timer of JavaScript can stop. */
const loops: Record<string, string> = {
  'a loop': `for (;;) {}`,
  'a pattern that backtracks': `/^(a+)+$/.test('a'.repeat(64) + '!');`,
  'Atomics.wait': `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
  'a native call': `process.getBuiltinModule('crypto').pbkdf2Sync('a', 'b', 2 ** 31 - 1, 64, 'sha512');`,
  'promises that follow on each other': `const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {});`,
  'ticks that follow on each other': `const again = () => process.nextTick(again); again(); await new Promise((r) => setTimeout(r, 1));`,
  'a getter of the output': `return { get a() { for (;;) {} } };`,
  'a thenable that is asked for ever': `return { then(ok) { ok(this); } };`,
  'a blocking read': `const fs = process.getBuiltinModule('fs'); for (;;) try { fs.readSync(3, Buffer.alloc(1)); } catch {}`,
  'a listener to every signal': `for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGALRM']) try { process.on(name, () => {}); } catch {} await new Promise((r) => setInterval(() => {}, 10));`,
  'a handler of its own end': `process.on('exit', () => { for (;;) {} }); process.exit(0);`,
  'a finalizer and sleep': `try { await new Promise((r) => setTimeout(r, 1e9)); } finally { for (;;) {} }`,
};

/** What does not get as far as its deadline. */
const endsOtherwise: Record<string, object> = {
  // The harness tells of the exit before the node's own listeners can get in its way.
  'a handler of its own end': { state: 'FAILED', code: 'NODE_EXITED', log: ['begun'], output: null },
};

describe('at its deadline ends', () => {
  const names = Object.keys(loops);
  // Six at a time: enough to show that they do not help each other, few enough for a small machine.
  it.each([names.slice(0, 6), names.slice(6)])(
    '%s, and so do %s, %s, %s, %s, %s: a run beside them is not affected',
    async (...group) => {
      const neighbour = {
        body: `await ctx.clock.sleep(500); return ctx.input.n + 1`,
        manifest: { resources: { timeout: '60s' } },
      };
      const runs = group.map((name) =>
        cells().run({
          body: `ctx.log.info('begun');\n${loops[name]}`,
          manifest: { resources: { timeout: '5s', cpu: 0.2 } },
        }),
      );
      const beside = await cells().run(neighbour, { input: { n: 1 } });
      const ended = await Promise.all(runs);
      const seen = Object.fromEntries(
        group.map((name, i) => {
          const { state, error, logs, output } = ended[i] as TestRun;
          return [name, { state, code: error?.code, log: logs.map(({ message }) => message), output }];
        }),
      );
      const stopped = { state: 'TIMED_OUT', code: 'TIMED_OUT', log: ['begun'], output: null };
      expect(seen).toEqual(Object.fromEntries(group.map((name) => [name, endsOtherwise[name] ?? stopped])));
      expect(beside).toMatchObject({ state: 'SUCCEEDED', output: 2 });
      const next = await cells().run(neighbour, { input: { n: 2 } });
      expect(next).toMatchObject({ state: 'SUCCEEDED', output: 3 });
    },
  );

  it('a module that never finishes loading, too', async () => {
    const resources = { timeout: '4s', cpu: 0.2 };
    const [loop, wait, nothing] = await Promise.all([
      cells().run({ top: `console.log('begun'); for (;;) {}`, body: 'return 1', manifest: { resources } }),
      cells().run({
        top: 'await new Promise((r) => setInterval(() => {}, 10));',
        body: 'return 1',
        manifest: { resources },
      }),
      cells().run({ top: 'await new Promise(() => {});', body: 'return 1', manifest: { resources } }),
    ]);
    expect(loop).toMatchObject({ state: 'TIMED_OUT', logs: [{ message: 'begun' }] });
    expect(wait).toMatchObject({ state: 'TIMED_OUT' });
    // Here there is nothing left that could happen, which need not be waited for.
    expect(nothing).toMatchObject({ state: 'FAILED', error: { code: 'NODE_NEVER_SETTLED' } });
  });
});
