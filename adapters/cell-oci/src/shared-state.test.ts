import { statSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type BenchCell, openCellBench } from '../../../test/support/cell-bench.ts';
import { ask, defineRawCalls, withRawCalls } from '../../../test/support/raw-calls.ts';

const bench = openCellBench({ weakenForTest: withRawCalls });
const clean = bench.residue();
afterEach(async () => {
  const left = bench.residue();
  await bench.settle();
  expect(left).toEqual(clean);
});
afterAll(() => bench.remove());

async function bootPrepared(runtime: 'crun' | 'runc' = 'crun'): Promise<BenchCell> {
  const cell = await bench.boot({}, bench.open({ runtime }));
  expect(await ask(cell, `${defineRawCalls} say(sys(39));`)).toBe(1);
  return cell;
}

async function end(cell: BenchCell): Promise<void> {
  cell.kill('done');
  await cell.ended;
}

const EPERM = -1;
const EROFS = -30;

describe.each(['crun', 'runc'] as const)('a cell under %s', (runtime) => {
  it('sets the times of its own files, and of no device of the host', async () => {
    const cell = await bootPrepared(runtime);
    const devices = ['null', 'zero', 'full', 'random', 'urandom'].map((name) => `/dev/${name}`);
    const times = () => devices.map((path) => statSync(path, { bigint: true }).mtimeNs);
    const before = times();
    const utimensat = 280;
    const told = await ask(
      cell,
      `say({
         devices: [...${JSON.stringify(devices)}, '/dev/tty'].map((path) => sys(${utimensat}, fs.openSync(path, 'r'), 0, 0, 0)),
         stdin: [fs.readlinkSync('/proc/self/fd/0'), sys(${utimensat}, 0, 0, 0, 0)],
         own: sys(${utimensat}, fs.openSync('/tmp/own', 'w'), 0, 0, 0),
       })`,
    );
    // runc gives a cell a pipe of its own in the place of the null device.
    const stdin = runtime === 'crun' ? ['/dev/null', EROFS] : [expect.stringMatching(/^pipe:/), 0];
    expect(told).toEqual({ devices: Array(6).fill(EROFS), stdin, own: 0 });
    expect(times()).toEqual(before);
    // They work all the same.
    const used = await ask(
      cell,
      `fs.writeFileSync('/dev/null', 'x'); say([fs.readSync(fs.openSync('/dev/zero'), mem, 0, 8), fs.readSync(fs.openSync('/dev/urandom'), mem, 0, 8), fs.readFileSync(0).length])`,
    );
    expect(used).toEqual([8, 8, 0]);
    await end(cell);
  });
});

it('a cell sees and names what it is itself, and not who is at the other end of its channel', async () => {
  const cell = await bootPrepared();
  const getsockopt = 55;
  const call = (option: number) => `(mem.writeUInt32LE(16, 64), sys(${getsockopt}, 3, 1, ${option}, at, at + 64n))`;
  const [type, error, credentials, descriptor] = (await ask(
    cell,
    `say([${[3, 4, 17, 77].map(call).join(', ')}])`,
  )) as number[];
  expect({ type, error, credentials, descriptor }).toEqual({
    type: 0,
    error: 0,
    credentials: EPERM,
    descriptor: EPERM,
  });
  await end(cell);
});

it('a cell makes a unix socket, and attaches no program for the kernel to it', async () => {
  const cell = await bootPrepared();
  // One instruction of classic BPF: accept.
  const told = await ask(
    cell,
    `mem.writeUInt16LE(0x06, 64); mem.writeUInt32LE(0xffff, 68); mem.writeUInt16LE(1, 0); mem.writeBigUInt64LE(at + 64n, 8);
     const socket = sys(41, 1, 1, 0);
     say([socket > 3, sys(54, socket, 1, 26, at, 16)])`,
  );
  expect(told).toEqual([true, EPERM]);
  await end(cell);
});

it('a cell locks and copies its own descriptors, and watches no directory of the image that others read too', async () => {
  const cell = await bootPrepared();
  const fcntl = 72;
  const told = await ask(
    cell,
    `const file = fs.openSync('/tmp/own', 'w'); const directory = fs.openSync('/glovebox', 'r');
     say({
       lock: (mem.fill(0), mem.writeInt16LE(1, 0), sys(${fcntl}, file, 6, at)),
       copy: sys(${fcntl}, file, 1030, 0) > 3,
       watch: sys(${fcntl}, directory, 1026, 1),
       lease: sys(${fcntl}, file, 1024, 0),
       signal: sys(${fcntl}, file, 8, 1),
     })`,
  );
  expect(told).toEqual({ lock: 0, copy: true, watch: EPERM, lease: EPERM, signal: EPERM });
  await end(cell);
});

it('a cell keeps a database in its scratch directory', async () => {
  const cell = await bootPrepared();
  const told = await ask(
    cell,
    `const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
     const results = ['delete', 'wal'].map((mode) => {
       const db = new DatabaseSync('/tmp/' + mode + '.db');
       db.exec('PRAGMA journal_mode=' + mode + '; CREATE TABLE t (n); INSERT INTO t VALUES (42)');
       return db.prepare('SELECT n FROM t').get().n;
     });
     say(results)`,
  );
  expect(told).toEqual([42, 42]);
  await end(cell);
});
