import { randomBytes } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attempting, gains } from '../support/attempts.ts';
import { channelKind } from '../support/test-driver.ts';
import { useEngine } from '../support/use-engine.ts';
import { withoutFlags } from '../support/without-flags.ts';

const cells = useEngine();
const open = useEngine(withoutFlags);
const engines = [
  ['with', cells],
  ['without', open],
] as const;

describe.each(engines)('a node, %s the refusals of Node.js itself,', (_, engine) => {
  it('starts no process and becomes no other user', async () => {
    const { output } = await engine().run(
      attempting({
        spawn: `const { error, pid } = builtin('child_process').spawnSync('/usr/bin/node', ['-e', '1']); if (error) throw error; return pid`,
        'spawn with a shell': `return builtin('child_process').execSync('echo 1')`,
        'spawn detached': `return await new Promise((done, fail) => builtin('child_process').spawn('/usr/bin/node', ['-e', '1'], { detached: true, stdio: 'ignore' }).on('error', fail).on('spawn', done))`,
        fork: `return await new Promise((done, fail) => builtin('child_process').fork('/glovebox/harness.cjs').on('error', fail).on('spawn', done))`,
        'a worker of cluster': `builtin('cluster').setupPrimary({ exec: '/glovebox/harness.cjs' }); return await new Promise((done, fail) => builtin('cluster').fork().on('error', fail).on('online', done))`,
        setuid: `process.setuid(0); return process.getuid()`,
        seteuid: `process.seteuid(0); return process.geteuid()`,
        setgid: `process.setgid(0); return process.getgid()`,
        setgroups: `process.setgroups([0]); return process.getgroups()`,
        initgroups: `process.initgroups('root', 0)`,
        'a better priority': `builtin('os').setPriority(-20)`,
        chdir: `process.chdir('/proc/self'); return process.cwd()`,
      }),
    );
    expect(gains(output)).toEqual({});
  });

  it('signals nothing', async () => {
    const { output } = await engine().run(
      attempting({
        'its own process': `process.kill(process.pid, 'SIGTERM')`,
        'its own process for debugging': `process.kill(process.pid, 'SIGUSR1')`,
        'process 1': `process.kill(1, 'SIGKILL')`,
        'every process': `process.kill(-1, 'SIGKILL')`,
        'its group': `process.kill(0, 'SIGKILL')`,
        'a process of the host': `process.kill(ctx.input.pid, 0)`,
        'a process of the host for debugging': `process._debugProcess(ctx.input.pid)`,
      }),
      { input: { pid: process.pid } },
    );
    expect(gains(output)).toEqual({});
  });

  it('has no file, directory or terminal open, and writes to none of its programs', async () => {
    const { output } = await engine().run({
      top: `import fs from 'node:fs'; import tty from 'node:tty';`,
      body: `
        const kinds = {};
        for (let fd = 0; fd < 256; fd++) {
          let stat; try { stat = fs.fstatSync(fd); } catch { continue; }
          const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : stat.isCharacterDevice() ? 'device ' + (stat.rdev >> 8) + ':' + (stat.rdev & 255) : stat.isSocket() ? 'socket' : stat.isFIFO() ? 'pipe' : 'other';
          kinds[kind] = (kinds[kind] ?? 0) + 1;
          if (tty.isatty(fd)) kinds.terminal = fd;
        }
        const { pipe, other, ...rest } = kinds;
        const opened = [];
        for (const path of ['/proc/self/exe', '/proc/1/exe', '/proc/thread-self/exe', '/usr/bin/node', '/glovebox/harness.cjs', '/glovebox/sysprobe', '/dev/tty', '/dev/console', '/proc/sysrq-trigger', '/proc/self/oom_score_adj', '/proc/self/uid_map', '/proc/self/attr/current', '/sys/fs/cgroup/release_agent'])
          for (const flags of ['w', 'r+', 'a', 'wx'])
            try { const fd = fs.openSync(path, flags); try { fs.writeSync(fd, 'x'); opened.push(path + ' ' + flags); } catch {} } catch {}
        const raw = []; for (const fd of [0, 1, 2, 3]) try { new tty.ReadStream(fd).setRawMode(true); raw.push(fd); } catch {}
        return { rest, opened: opened.filter((path) => !path.startsWith('/dev/tty')), raw, cwd: process.cwd() };`,
    });
    // Besides what epoll, signals and the thread pool of Node.js itself are made of: /dev/null, the standard streams, the channel.
    expect(output).toEqual({
      rest: { ...(channelKind() === 'socket' && { socket: 3 }), 'device 1:3': expect.any(Number) },
      opened: expect.any(Array),
      raw: [],
      cwd: '/',
    });
    const { opened } = output as unknown as { opened: string[] };
    // A process may make itself more likely to be killed, never less; its own name for the kernel's mandatory access control it may not change.
    expect(opened.filter((path) => !path.startsWith('/proc/self/oom_score_adj'))).toEqual([]);
  });

  it('finds neither the host nor a secret of it by walking all that it can read', async () => {
    const canary = randomBytes(16).toString('hex');
    process.env.GLOVEBOX_TEST_CANARY = canary;
    try {
      const { output } = await engine().run(
        {
          top: `import fs from 'node:fs'; import os from 'node:os';`,
          body: `
            const half = ctx.input.halves; const needles = [half.join(''), ...ctx.input.names];
            const hits = [], processes = [];
            let files = 0;
            const look = (path, text) => { for (const needle of needles) if (text.includes(needle)) hits.push(path + ': ' + needle); };
            const walk = (dir, depth) => {
              let names = []; try { names = fs.readdirSync(dir); } catch { return; }
              for (const name of names) {
                const path = (dir === '/' ? '' : dir) + '/' + name;
                let stat; try { stat = fs.lstatSync(path); } catch { continue; }
                if (dir === '/proc' && Number(name) > 0) processes.push(Number(name));
                if (stat.isSymbolicLink()) { try { look(path, fs.readlinkSync(path)); } catch {} }
                else if (stat.isDirectory()) { if (depth < 6 && !/\\/(task|thread-self|map_files)$/.test(path)) walk(path, depth + 1); }
                else if (stat.isFile() && stat.size < 4e6 && !/(mem|pagemap|clear_refs|kmsg|kcore)$/.test(path)) {
                  let text; try { text = fs.readFileSync(path, 'latin1'); files++; } catch { continue; }
                  if (path !== '/proc/self/mountinfo' && path !== '/proc/1/mountinfo') look(path, text);
                }
              }
            };
            for (const root of ['/', '/glovebox', '/tmp', '/etc', '/dev', '/usr', '/proc/self', '/proc/1', '/sys', '/run', '/root', '/home']) walk(root, 0);
            // An image does not name the users that an engine without user namespaces gives to cells.
            let user; try { user = os.userInfo(); } catch (error) { user = error.code; }
            look('process', JSON.stringify([process.env, process.argv, process.execArgv, process.report.getReport(), os.hostname(), user]));
            return { hits, processes, files };`,
          manifest: { resources: { timeout: '60s', memory: '256MiB' } },
        },
        {
          input: {
            halves: [canary.slice(0, 16), canary.slice(16)],
            names: ['GLOVEBOX_TEST_CANARY', basename(dirname(engine().dataDir)), engine().engine.signer.instance],
          },
        },
      );
      const seen = output as unknown as { hits: string[]; processes: number[]; files: number };
      expect(seen.hits).toEqual([]);
      expect(seen.processes.filter((pid) => pid !== 1)).toEqual([]);
      expect(seen.files).toBeGreaterThan(1);
    } finally {
      delete process.env.GLOVEBOX_TEST_CANARY;
    }
  });

  it('holds nothing of the host in its memory but its own job', async () => {
    const { output } = await engine().run(
      {
        body: `
          const v8 = process.getBuiltinModule('v8');
          let text = ''; for await (const chunk of v8.getHeapSnapshot()) text += chunk;
          const has = (needle) => text.includes(needle);
          return { job: has(ctx.input.mark), keys: has(ctx.input.key.join('')), host: has(ctx.input.dir.join('/')), bytes: text.length > 1e5 };`,
        manifest: { resources: { memory: '512MiB', timeout: '60s' } },
      },
      {
        input: {
          mark: 'the-mark-of-this-job',
          dir: engine().dataDir.split('/'),
          key: ['-----BEGIN PRIV', 'ATE KEY-----\\nMC4'],
        },
      },
    );
    expect(output).toEqual({ job: true, keys: false, host: false, bytes: true });
  });
});

describe('500 threads', () => {
  it('are refused by Node.js, and where it does not, by the limit of the cell', async () => {
    const node = {
      body: `
        const { Worker } = process.getBuiltinModule('worker_threads');
        const workers = []; let failed = 0;
        for (let i = 0; i < 500; i++) try { workers.push(new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => failed++)); } catch (e) { failed++; if (e.code === 'ERR_ACCESS_DENIED') return e.code; }
        await new Promise((r) => setTimeout(r, 2000));
        return failed;`,
      manifest: { resources: { memory: '1024MiB', timeout: '60s', pids: 64, cpu: 2 } },
    };
    expect((await cells().run(node)).output).toBe('ERR_ACCESS_DENIED');
    const result = await open().run(node);
    // The node may live to tell how many it did not get.
    if (result.state === 'SUCCEEDED') expect(result.output).toBeGreaterThan(400);
    else expect(['PIDS_EXCEEDED', 'OUT_OF_MEMORY']).toContain(result.state);
    expect(result.peaks.pids).toBeLessThanOrEqual(64);
    expect((await open().run({ body: 'return 1' })).output).toBe(1);
  });
});
