import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openUidClaims } from '@glovebox/cell/host';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type BenchCell, openCellBench } from '../support/cell-bench.ts';
import { openDockerBench } from '../support/docker-bench.ts';
import { startDockerEngine } from '../support/docker-engine.ts';
import { ask, calls, defineRawCalls, withRawCalls } from '../support/raw-calls.ts';
import { hostPidOf } from '../support/trace-needs.ts';

const MiB = 1024 * 1024;
const bench = openCellBench({ weakenForTest: withRawCalls });
const clean = bench.residue();
afterEach(async () => {
  await bench.settle();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => bench.remove());

/** A cell as it is while a node runs: on one core. */
async function bootDispatched(limits: Parameters<typeof bench.boot>[0] = {}): Promise<BenchCell> {
  const cell = await bench.boot({
    openFiles: 1024,
    memoryBytes: 256 * MiB,
    scratchBytes: 16 * MiB,
    lifetimeMs: 300_000,
    ...limits,
  });
  await cell.dispatch({ cpu: 1, deadlineMs: 300_000 });
  expect(await ask(cell, `${defineRawCalls} say(sys(${calls.getpid}));`)).toBe(1);
  return cell;
}

it("twenty cells that live at once, of two runtimes and two instances, have twenty host uids and gids, none of them a user's", async () => {
  const other = openCellBench({ runtime: 'runc' });
  try {
    const cells = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? bench : other).boot()));
    for (const cell of cells)
      expect(await ask(cell, 'say([process.getuid(), process.getgid()])')).toEqual([65532, 65532]);
    const uids = cells.map((cell) => {
      const status = readFileSync(`/proc/${hostPidOf(cell)}/status`, 'utf8');
      const ids = (field: string): number[] =>
        (new RegExp(`^${field}:\\t(.*)$`, 'm').exec(status)?.[1] ?? '').trim().split(/\s+/).map(Number);
      // Real, effective, saved and of the file system; and no other group.
      expect(new Set(ids('Uid')).size).toBe(1);
      expect(new Set(ids('Gid')).size).toBe(1);
      expect(/^Groups:\s*$/m.test(status)).toBe(true);
      expect(ids('Uid')[0]).toBeGreaterThan(100_000);
      return [ids('Uid')[0], ids('Gid')[0]];
    });
    expect(new Set(uids.map(([uid]) => uid)).size).toBe(20);
    expect(new Set(uids.map(([, gid]) => gid)).size).toBe(20);
  } finally {
    await other.settle();
    other.remove();
  }
});

it('twenty cells that live at once, some by a runtime and some by a container engine, have twenty host uids and gids', async () => {
  const engine = await startDockerEngine();
  // As on a host: all drivers claim uids in one place.
  const claimsDirectory = join(bench.home, 'uids');
  const direct = openCellBench({ claimsDirectory });
  const byEngine = openDockerBench({ engine: { socketPath: engine.socketPath }, claimsDirectory });
  try {
    const cells = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? direct.boot() : byEngine.boot())),
    );
    for (const cell of cells) expect(await ask(cell, 'say(1)')).toBe(1);
    const ids = openUidClaims(claimsDirectory)
      .list()
      .flatMap(({ uids }) => uids?.[1] ?? []);
    expect(new Set(ids).size).toBe(20);
    // As the kernel tells them: real, effective, saved and of the file system, the same for user and group.
    const seen = new Set(hostIds());
    for (const id of ids) expect(seen).toContain([...Array(4).fill(id), ...Array(4).fill(id)].join());
  } finally {
    await direct.settle();
    await byEngine.settle();
    direct.remove();
    byEngine.remove();
    await engine.stop();
  }
});

/** User and group ids of every process of this host, four of each. */
const hostIds = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        return [...status.matchAll(/^[UG]id:\t(.*)$/gm)].flatMap(([, ids = '']) => ids.split('\t')).join();
      } catch {
        // It ended meanwhile.
        return [];
      }
    });

/** A fixed piece of work: hashes, objects, files, pipes, locks and watches; a hog may be in the way of any. */
const job = `
  globalThis.work = () => {
    const crypto = process.getBuiltinModule('node:crypto');
    const began = performance.now();
    for (let i = 0; i < 30; i++) crypto.createHash('sha256').update(Buffer.alloc(500000, i)).digest();
    JSON.parse(JSON.stringify(Array.from({ length: 30000 }, (_, i) => ({ i, text: 'x' + i }))));
    for (let i = 0; i < 150; i++) { fs.writeFileSync('/tmp/n' + i, 'x'.repeat(2000)); fs.readFileSync('/tmp/n' + i); fs.statSync('/usr/bin/node'); fs.unlinkSync('/tmp/n' + i); }
    const file = fs.openSync('/tmp/locked', 'w'); mem.fill(0); mem.writeInt16LE(1, 0); mem.writeInt16LE(0, 2); mem.writeBigInt64LE(1n, 16);
    for (let i = 0; i < 150; i++) { mem.writeBigInt64LE(BigInt(i * 2), 8); if (sys(${calls.fcntl}, file, 6, at) !== 0) throw new Error('no lock'); }
    fs.closeSync(file);
    for (let i = 0; i < 150; i++) {
      if (sys(${calls.pipe2}, at + 256n, 0) !== 0) throw new Error('no pipe');
      const [from, to] = [mem.readInt32LE(256), mem.readInt32LE(260)];
      const all = sys(${calls.epoll_create1}, 0); mem.writeUInt32LE(1, 512); if (sys(${calls.epoll_ctl}, all, 1, from, at + 512n) !== 0) throw new Error('no watch');
      fs.writeSync(to, 'x'); fs.readSync(from, Buffer.alloc(1)); for (const fd of [from, to, all]) fs.closeSync(fd);
    }
    return performance.now() - began;
  };
`;

/** Each says that it has begun, then uses up what it is named after for as long as it lives. */
const hogs: Record<string, string> = {
  'processor time': `say('begun'); for (;;) Math.sqrt(Math.random());`,
  'system calls': `say('begun'); for (;;) sys(${calls.getpid});`,
  'memory, at its limit': `say('begun'); for (;;) { const all = []; for (let i = 0; i < 150; i++) all.push(Buffer.alloc(${MiB}, i)); }`,
  'pages of pipes': `
    const pipes = []; while (sys(${calls.pipe2}, at, 0o4000) === 0) pipes.push([mem.readInt32LE(0), mem.readInt32LE(4)]);
    const fill = Buffer.alloc(65536, 1); for (const [, to] of pipes) try { for (;;) fs.writeSync(to, fill); } catch {}
    say('begun'); for (let i = 0; ; i = (i + 1) % pipes.length) try { fs.readSync(pipes[i][0], fill); fs.writeSync(pipes[i][1], fill); } catch {}`,
  'watches of epoll': `
    const sources = []; for (let i = 0; i < 200; i++) { sys(${calls.pipe2}, at, 0); sources.push(mem.readInt32LE(0)); }
    mem.writeUInt32LE(1, 512); const fill = () => { const all = []; for (;;) { const fd = sys(${calls.epoll_create1}, 0); if (fd < 0) return all; all.push(fd); for (const source of sources) sys(${calls.epoll_ctl}, fd, 1, source, at + 512n); } };
    let all = fill(); say('begun'); for (;;) { for (const fd of all) fs.closeSync(fd); all = fill(); }`,
  'locks of files': `
    const file = fs.openSync('/tmp/locks', 'w'); mem.fill(0); mem.writeBigInt64LE(1n, 16);
    const each = (kind) => { mem.writeInt16LE(kind, 0); for (let i = 0; i < 5000; i++) { mem.writeBigInt64LE(BigInt(i * 2), 8); sys(${calls.fcntl}, file, 6, at); } };
    each(1); say('begun'); for (;;) { each(2); each(1); }`,
  'names and inodes of scratch': `
    say('begun'); for (;;) { let n = 0; try { for (; ; n++) fs.writeFileSync('/tmp/i' + n, ''); } catch {} while (n-- > 0) fs.unlinkSync('/tmp/i' + n); }`,
  'names that are not there': `say('begun'); for (let n = 0; ; n++) fs.existsSync('/glovebox/none-' + n);`,
  'bytes of scratch': `
    const bytes = Buffer.alloc(${MiB}, 1); say('begun'); for (;;) { const fd = fs.openSync('/tmp/big', 'w'); try { for (;;) fs.writeSync(fd, bytes); } catch {} fs.closeSync(fd); fs.unlinkSync('/tmp/big'); }`,
  threads: `
    const { Worker } = process.getBuiltinModule('node:worker_threads'); say('begun');
    (async () => { for (;;) { const all = []; for (let i = 0; i < 8; i++) all.push(new Worker('for (let i = 0; i < 1e7; i++);', { eval: true })); await Promise.all(all.map((w) => new Promise((r) => w.on('exit', r).on('error', r)))); } })(); leave();`,
  'mappings of memory': `say('begun'); const held = []; for (;;) { for (let i = 0; i < 2000; i++) held.push(sys(9, 0, 4096, i % 2 ? 1 : 3, 0x22, -1, 0)); for (const page of held.splice(0)) sys(11, page, 4096); }`,
};

/** On a busy machine long times tell of others. What is always in the way makes the short ones long, too. */
const lowerQuartile = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)] ?? Number.NaN;

const timeOf = async (cell: BenchCell): Promise<number> => (await ask(cell, 'say(work())')) as number;

/**
 * How many times longer the neighbour takes while the hog is at it. Other work on the machine comes and goes, so the hog is
 * stopped and let go on again and again, and what is compared was measured side by side; some of it was measured before the
 * hog was there at all, since also a stopped one holds what it has got.
 */
async function slowdown(neighbour: BenchCell, hog: string): Promise<number> {
  const alone = [await timeOf(neighbour)];
  const cell = await bootDispatched();
  expect(await ask(cell, hog)).toBe('begun');
  const pid = hostPidOf(cell);
  const beside: number[] = [];
  for (let round = 0; round < 8; round++) {
    beside.push(await timeOf(neighbour));
    process.kill(pid, 'SIGSTOP');
    alone.push(await timeOf(neighbour));
    process.kill(pid, 'SIGCONT');
  }
  beside.push(await timeOf(neighbour));
  // It was at it all the time.
  expect(await Promise.race([cell.ended.then(() => 'ended'), Promise.resolve('lives')])).toBe('lives');
  cell.kill('done');
  await cell.ended;
  return lowerQuartile(beside) / lowerQuartile(alone);
}

describe('a cell that uses up as much as it can get of', () => {
  it.each(Object.entries(hogs))('%s does not make its neighbour twice as slow', async (_, hog) => {
    const neighbour = await bootDispatched();
    await ask(neighbour, `${job} work(); say(work())`);
    // Of five tries the best: a neighbour that is in the way is so in all of them.
    const ratios: number[] = [];
    for (let attempt = 0; attempt < 5 && !ratios.some((ratio) => ratio < 2); attempt++)
      ratios.push(await slowdown(neighbour, hog));
    expect(Math.min(...ratios)).toBeLessThan(2);
  });
});

it('one that is in the way is seen: twelve threads of the same cell make it more than twice as slow', async () => {
  const cell = await bootDispatched();
  await ask(cell, `${job} work(); say(work())`);
  const several = async (): Promise<number[]> => {
    const times: number[] = [];
    for (let round = 0; round < 8; round++) times.push(await timeOf(cell));
    return times;
  };
  const alone = await several();
  await ask(
    cell,
    `const { Worker } = process.getBuiltinModule('node:worker_threads'); const shared = new Int32Array(new SharedArrayBuffer(4));
     for (let i = 0; i < 12; i++) new Worker('const { workerData } = require("node:worker_threads"); Atomics.add(workerData, 0, 1); for (;;);', { eval: true, workerData: shared });
     while (Atomics.load(shared, 0) < 12) Atomics.wait(shared, 0, Atomics.load(shared, 0), 100);
     say('begun')`,
  );
  const beside = await several();
  expect(lowerQuartile(beside) / lowerQuartile(alone)).toBeGreaterThan(2);
});

describe('what the kernel counts by user', () => {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-users-'));
  // Any user may read it.
  chmodSync(dir, 0o755);
  const program = join(dir, 'pipes.mjs');
  const children: ChildProcess[] = [];
  writeFileSync(
    program,
    `import { createRequire } from 'node:module';
     const require = createRequire(import.meta.url); const say = (value) => console.log(JSON.stringify(value));
     ${defineRawCalls}
     const size = () => (sys(${calls.pipe2}, at, 0), sys(${calls.fcntl}, mem.readInt32LE(0), 1032));
     const sizes = []; for (let i = 0; i < Number(process.argv[2]); i++) sizes.push(size());
     say([sizes[0], sizes.at(-1)]); process.stdin.resume();`,
  );
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  /** Make pipes as a user of the host, and hold them. @returns the sizes of the first and the last. */
  async function holdPipes(uid: number, count: number): Promise<unknown> {
    const args = ['--nofile=8192', process.execPath, '--experimental-ffi', '--no-warnings', program, String(count)];
    const user = [
      '--reuid',
      String(uid),
      '--regid',
      String(uid),
      '--clear-groups',
      '--inh-caps=-all',
      '--bounding-set=-all',
    ];
    const child = spawn('setpriv', [...user, 'prlimit', ...args], { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' });
    children.push(child);
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return JSON.parse(line as string);
  }

  it('two processes of one user take from each other, and two users do not', async () => {
    const [mine, theirs] = [0x6fff_0001, 0x6fff_0002];
    expect(await holdPipes(mine, 10)).toEqual([65536, 65536]);
    // 1,024 pipes of 16 pages are all that a user has by default; then pipes are small.
    const [first, last] = (await holdPipes(mine, 1100)) as [number, number];
    expect([first, last <= 8192]).toEqual([65536, true]);
    const [after] = (await holdPipes(mine, 1)) as [number];
    expect(after).toBeLessThanOrEqual(8192);
    expect(await holdPipes(theirs, 1)).toEqual([65536, 65536]);
  });

  it('cells do not take from each other, since each is a user of its own', async () => {
    // As much as fits in without waiting: the filter refuses to tell the size.
    const pipes = `let n = 0; const bytes = Buffer.alloc(1 << 20); const size = () => (sys(${calls.pipe2}, at, 0o4000) === 0 ? fs.writeSync(mem.readInt32LE(4), bytes) : 0);`;
    // Together more than one user could have.
    for (let i = 0; i < 3; i++) {
      const hog = await bootDispatched();
      const [count, last] = (await ask(
        hog,
        `${pipes} let last = 0; for (let next = size(); next > 0; next = size()) { n++; last = next; } say([n, last])`,
      )) as [number, number];
      expect(count).toBeGreaterThan(480);
      expect(last).toBe(65536);
    }
    const neighbour = await bootDispatched();
    expect(await ask(neighbour, `${pipes} say(size())`)).toBe(65536);
  });
});
