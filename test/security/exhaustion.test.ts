import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

interface Case {
  body: string;
  /** Beyond the defaults: 128 MiB of memory, 1 MiB of scratch. */
  manifest?: object;
  state: string;
  code: string | undefined;
  output?: unknown;
}

const small = { resources: { memory: '64MiB', timeout: '60s' } };

const cases: Record<string, Case> = {
  'the heap by objects': {
    body: `const all = []; for (;;) all.push({ a: new Array(100).fill(all.length) });`,
    manifest: small,
    state: 'OUT_OF_MEMORY',
    code: 'OUT_OF_MEMORY',
  },
  'the heap by one text': {
    body: `let text = 'x'; for (;;) { text += text; JSON.parse(JSON.stringify(text)); }`,
    manifest: small,
    state: 'OUT_OF_MEMORY',
    code: 'OUT_OF_MEMORY',
  },
  'memory by a buffer of 4 GB that is written to': {
    body: `const b = Buffer.alloc(4 * 1024 ** 3); for (let i = 0; i < b.length; i += 4096) b[i] = 1; return b.length;`,
    manifest: small,
    state: 'OUT_OF_MEMORY',
    code: 'OUT_OF_MEMORY',
  },
  'memory by many buffers outside of the heap': {
    body: `const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));`,
    manifest: small,
    state: 'OUT_OF_MEMORY',
    code: 'OUT_OF_MEMORY',
  },
  'memory by WebAssembly': {
    body: `const all = []; for (;;) { const m = new WebAssembly.Memory({ initial: 256 }); new Uint8Array(m.buffer).fill(1); all.push(m); }`,
    manifest: small,
    state: 'OUT_OF_MEMORY',
    code: 'OUT_OF_MEMORY',
  },
  'memory by promises that nobody awaits': {
    body: `for (;;) { for (let i = 0; i < 1e5; i++) void new Promise((r) => setTimeout(r, 1e9)); await new Promise((r) => setImmediate(r)); }`,
    manifest: small,
    state: 'OUT_OF_MEMORY',
    code: 'OUT_OF_MEMORY',
  },
  'bytes of scratch': {
    body: `const fs = process.getBuiltinModule('fs'); const fd = fs.openSync(ctx.scratch + '/big', 'w'); for (;;) fs.writeSync(fd, Buffer.alloc(65536, 1));`,
    state: 'SCRATCH_FULL',
    code: 'SCRATCH_FULL',
  },
  'bytes of scratch at once, without writing them': {
    body: `const fs = process.getBuiltinModule('fs'); try { fs.truncateSync(fs.openSync('/tmp/hole', 'w') && '/tmp/hole', 1024 ** 4); return 'grown' } catch (e) { return e.code }`,
    state: 'SUCCEEDED',
    code: undefined,
    output: expect.stringMatching(/^(EFBIG|ENOSPC)$/),
  },
  'inodes of scratch': {
    body: `const fs = process.getBuiltinModule('fs'); for (let i = 0; ; i++) fs.writeFileSync('/tmp/' + i, '');`,
    manifest: { ...small, resources: { ...small.resources, memory: '128MiB' } },
    state: 'SCRATCH_FULL',
    code: 'SCRATCH_FULL',
  },
  'directories of scratch': {
    body: `const fs = process.getBuiltinModule('fs'); let path = '/tmp'; try { for (;;) { path += '/d'; fs.mkdirSync(path); } } catch (e) { return e.code }`,
    state: 'SUCCEEDED',
    code: undefined,
    output: expect.stringMatching(/^(ENAMETOOLONG|ENOSPC)$/),
  },
  descriptors: {
    body: `const fs = process.getBuiltinModule('fs'); let n = 0; try { for (; n < 1e6; n++) fs.openSync('/tmp', 'r'); } catch (e) { return [e.code, n < 256] }`,
    state: 'SUCCEEDED',
    code: undefined,
    output: ['EMFILE', true],
  },
  'descriptors, until nothing works any more': {
    body: `const fs = process.getBuiltinModule('fs'); for (;;) fs.openSync('/tmp', 'r');`,
    state: 'FAILED',
    code: 'NODE_FAILED',
  },
  'threads, by a pool as large as it can be made': {
    body: `process.env.UV_THREADPOOL_SIZE = '1024'; const fs = process.getBuiltinModule('fs').promises; await Promise.all(Array.from({ length: 2000 }, () => fs.stat('/tmp'))); return 'served'`,
    manifest: { resources: { pids: 32 } },
    state: 'PIDS_EXCEEDED',
    code: 'PIDS_EXCEEDED',
  },
  'the stack': { body: `const f = () => f() + 1; return f();`, state: 'FAILED', code: 'NODE_FAILED' },
  'processor time': {
    body: `const until = Date.now() + 1000; let n = 0; while (Date.now() < until) n++; return n > 0;`,
    manifest: { resources: { cpu: 0.1 } },
    state: 'SUCCEEDED',
    code: undefined,
    output: true,
  },
};

const names = Object.keys(cases);
const groups = [names.slice(0, 3), names.slice(3, 6), names.slice(6, 10), names.slice(10)];

describe('a node that uses up', () => {
  it.each(groups.map((group) => [group.join('; '), group] as const))(
    '%s ends typed, and a run beside it does its work',
    async (_, group) => {
      const runs = group.map((name) => {
        const { body, manifest = {} } = cases[name] as Case;
        return cells().run({ body, manifest: manifest as Record<string, unknown> });
      });
      const beside = await cells().run(
        {
          body: `const text = 'x'.repeat(1e6); const hash = process.getBuiltinModule('crypto').createHash('sha256'); for (let i = 0; i < 5; i++) { hash.update(text); await ctx.clock.sleep(50); } process.getBuiltinModule('fs').writeFileSync('/tmp/mine', text.slice(0, 1e5)); return hash.digest('hex').length`,
          manifest: { resources: { timeout: '60s' } },
        },
        {},
      );
      const ended = await Promise.all(runs);
      const seen = ended.map(({ state, error, output }, i) => ({ name: group[i], state, code: error?.code, output }));
      expect(seen).toEqual(
        group.map((name) => {
          const { state, code, output = null } = cases[name] as Case;
          return { name, state, code, output };
        }),
      );
      expect(beside).toMatchObject({ state: 'SUCCEEDED', output: 64 });
      for (const [i, { peaks, limits }] of ended.entries()) {
        const name = group[i];
        expect([name, peaks.memoryBytes]).toEqual([name, expect.any(Number)]);
        expect([name, (peaks.memoryBytes ?? 0) <= limits.memoryBytes + limits.scratchBytes]).toEqual([name, true]);
      }
    },
  );
});
