import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type CellDriver, cellPaths, probeCalls, readSysprobe } from '@glovebox/cell';
import { runTrial } from '@glovebox/engine';
import { afterAll, describe, expect, it } from 'vitest';
import { attempting, gains } from '../support/attempts.ts';
import { type NodeSource, writeNode } from '../support/node-package.ts';
import { skipOnEngine } from '../support/test-driver.ts';
import { useEngine } from '../support/use-engine.ts';
import { withoutFlags } from '../support/without-flags.ts';

const cells = useEngine();
const open = useEngine(withoutFlags);
const dir = mkdtempSync(join(tmpdir(), 'glovebox-flags-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Nodes that break rules of every kind, and how each ends. */
const hostile: Record<string, { source: NodeSource; ends: [state: string, code: string | undefined] }> = {
  'hunts for files of the host': {
    source: attempting({
      passwd: `return fs.readFileSync('/etc/shadow')`,
      root: `return fs.readdirSync('/root')`,
      above: `return fs.readFileSync('/proc/1/root/../../etc/shadow')`,
      disk: `return fs.openSync('/dev/vda', 'r')`,
      memory: `return fs.openSync('/dev/mem', 'r')`,
      keys: `return fs.readFileSync('/proc/keys')`,
      log: `return fs.readFileSync('/proc/kmsg')`,
      cgroup: `return fs.readdirSync('/sys/fs/cgroup')`,
      release: `fs.writeFileSync('/sys/fs/cgroup/release_agent', '/tmp/x')`,
      sysrq: `fs.writeFileSync('/proc/sysrq-trigger', 'b')`,
      pattern: `fs.writeFileSync('/proc/sys/kernel/core_pattern', '|/tmp/x')`,
      modprobe: `fs.writeFileSync('/proc/sys/kernel/modprobe', '/tmp/x')`,
      program: `fs.writeFileSync('/usr/bin/node', '')`,
      harness: `fs.writeFileSync('/glovebox/harness.cjs', '')`,
      ids: `fs.writeFileSync('/proc/self/uid_map', '0 0 4294967295')`,
      mode: `fs.chmodSync('/usr/bin/node', 0o4755)`,
      owner: `fs.writeFileSync('/tmp/s', ''); fs.chownSync('/tmp/s', 0, 0)`,
      device: `builtin('child_process').execFileSync('/usr/bin/mknod')`,
      setuid: `fs.writeFileSync('/tmp/x', ''); fs.chmodSync('/tmp/x', 0o4755); process.execve('/tmp/x', ['x'])`,
      scratch: `fs.copyFileSync('/glovebox/sysprobe', '/tmp/x'); fs.chmodSync('/tmp/x', 0o755); process.execve('/tmp/x', ['x'])`,
    }),
    ends: ['SUCCEEDED', undefined],
  },
  'never ends': {
    source: { body: 'for (;;) {}', manifest: { resources: { timeout: '2s' } } },
    ends: ['TIMED_OUT', 'TIMED_OUT'],
  },
  'takes all memory': {
    source: {
      body: 'const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));',
      manifest: { resources: { memory: '64MiB' } },
    },
    ends: ['OUT_OF_MEMORY', 'OUT_OF_MEMORY'],
  },
  'fills its scratch': {
    source: {
      body: `const fs = process.getBuiltinModule('fs'); for (let i = 0; ; i++) fs.writeFileSync('/tmp/' + i, Buffer.alloc(65536));`,
    },
    ends: ['SCRATCH_FULL', 'SCRATCH_FULL'],
  },
  'floods its log': {
    source: {
      body: `const fs = process.getBuiltinModule('fs'); for (;;) try { fs.writeSync(2, Buffer.alloc(65536, 120)); } catch {}`,
    },
    ends: ['LOG_FLOOD', 'LOG_FLOOD'],
  },
  'writes into the channel': {
    source: {
      body: `const fs = process.getBuiltinModule('fs'); for (;;) for (const fd of [3, 4]) try { fs.writeSync(fd, 'x'.repeat(100)); } catch {}`,
    },
    ends: ['CHANNEL_CORRUPTED', 'CHANNEL_CORRUPTED'],
  },
  exits: { source: { body: 'process.exit(0)' }, ends: ['FAILED', 'NODE_EXITED'] },
  'exits past the harness': { source: { body: 'process.reallyExit(0)' }, ends: ['CRASHED', 'NODE_EXITED'] },
  aborts: { source: { body: 'process.abort()' }, ends: ['CRASHED', 'NODE_CRASHED'] },
  'gives too much': { source: { body: `return 'x'.repeat(1 << 20)` }, ends: ['OUTPUT_TOO_LARGE', 'OUTPUT_TOO_LARGE'] },
};

describe('the flags of Node.js are no wall: without them', () => {
  it.each(Object.entries(hostile))(
    'a node that %s ends as it does with them, and gains as little',
    async (_, { source, ends }) => {
      for (const engine of [cells, open]) {
        const { state, error, output } = await engine().run(source);
        expect([state, error?.code]).toEqual(ends);
        if (state === 'SUCCEEDED') expect(gains(output)).toEqual({});
      }
    },
  );

  it('a node gets threads and its own memory, and nothing beyond its cell by them', async () => {
    const attempts = {
      'a thread': `const { Worker } = builtin('worker_threads'); return await new Promise((done, fail) => new Worker('require("worker_threads").parentPort.postMessage(7)', { eval: true }).on('error', fail).on('message', done))`,
      'its memory': `fs.closeSync(fs.openSync('/proc/self/mem', 'r+')); return 'open'`,
      'a host file in a thread': `const { Worker } = builtin('worker_threads'); return await new Promise((done, fail) => new Worker('require("worker_threads").parentPort.postMessage(require("fs").readFileSync("/etc/shadow", "utf8"))', { eval: true }).on('error', fail).on('message', done))`,
      'a socket in a thread': `const { Worker } = builtin('worker_threads'); return await new Promise((done, fail) => new Worker('require("net").connect(80, "1.1.1.1").on("error", (e) => { throw e }).on("connect", () => require("worker_threads").parentPort.postMessage(1))', { eval: true }).on('error', fail).on('message', done))`,
    };
    expect(gains((await cells().run(attempting(attempts))).output)).toEqual({});
    expect((await open().run(attempting(attempts))).output).toEqual({
      'a thread': { got: 7 },
      'its memory': { got: 'open' },
      'a host file in a thread': expect.stringMatching(/^E/),
      'a socket in a thread': 'EPERM',
    });
  });

  it.runIf(process.arch === 'x64')(
    'a node that becomes another program meets the same kernel: every call off the list is refused',
    async (context) => {
      skipOnEngine(context, 'its standard output is nowhere: an engine has no other streams for the channel');
      const becomes: NodeSource = { body: `process.execve('${cellPaths.sysprobe}', ['sysprobe'])` };
      const chunks: Buffer[] = [];
      const { driver } = open().engine;
      const tapped: CellDriver = {
        ...driver,
        boot: async (plan, id) => {
          const cell = await driver.boot(plan, id);
          if (plan.role !== 'run') return cell;
          const stdout = new PassThrough();
          cell.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
          cell.stdout.pipe(stdout);
          return { ...cell, ended: cell.ended, stdout };
        },
      };
      const result = await runTrial(
        { ...open().engine, driver: tapped },
        {
          project: 'default',
          actor: 'local:uid=0',
          packageDir: await writeNode(join(dir, 'becomes'), becomes),
          inputText: '{}',
          configText: '{}',
        },
      );
      expect(result).toMatchObject({ state: 'CRASHED', output: null });
      const report = readSysprobe(Buffer.concat(chunks));
      expect(report.outcomes.filter(({ asExpected }) => !asExpected)).toEqual([]);
      expect(report.outcomes).toHaveLength(probeCalls.length);
      expect(report).toMatchObject({ complete: true, survivedForeignGate: false });
      // The calls that the attacks of this folder would need are among them.
      const denied = new Set(report.outcomes.map(({ name }) => name.split(':')[0]));
      for (const name of [
        'unshare',
        'setns',
        'mount',
        'ptrace',
        'keyctl',
        'shmget',
        'io_uring_setup',
        'ioctl',
        'clone3',
        'bpf',
      ])
        expect([name, denied.has(name)]).toEqual([name, true]);

      const refused = await cells().run(becomes);
      expect(refused.error).toMatchObject({ code: 'NODE_FAILED' });
    },
  );
});
