import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, expect, it } from 'vitest';
import { openCellBench } from '../support/cell-bench.ts';
import { ask, calls, defineRawCalls, withRawCalls } from '../support/raw-calls.ts';

const bench = openCellBench({ weakenForTest: withRawCalls });
const clean = bench.residue();
afterEach(async () => {
  await bench.settle();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => bench.remove());

const EPERM = -1;

/**
 * What the kernel counts by user, and what two processes with the same user can meet by: keys, shared memory, queues. An
 * expression over `sys`, `mem` and `at`.
 */
const meetingPoints = `(
  mem.write('user\\0', 0), mem.write('canary\\0', 64), sys(${calls.pipe2}, at + 256n, 0),
  globalThis.pipe = mem.readInt32LE(256),
  {
    'larger pipes': sys(${calls.fcntl}, pipe, 1031, 1048576),
    'watches of files': sys(${calls.inotify_init1}, 0),
    'keys of its process': sys(${calls.add_key}, at, at + 64n, at, 4, -2),
    'keys of its session': sys(${calls.add_key}, at, at + 64n, at, 4, -3),
    'a key by its name': sys(${calls.request_key}, at, at + 64n, 0, -2),
    'a key ring': sys(${calls.keyctl}, 0, -2, 1),
    'shared memory': sys(${calls.shmget}, 4711, 4096, 0o1600),
    'a queue of messages': sys(${calls.msgget}, 4711, 0o1600),
    'a queue by its name': sys(${calls.mq_open}, at + 64n, 0o102, 0o600, 0),
    'signals that wait': (mem.fill(0, 512, 640), mem.writeInt32LE(40, 512), mem.writeInt32LE(-1, 520), sys(${calls.rt_sigqueueinfo}, 1, 40, at + 512n)),
    'timers that signal': sys(${calls.timer_create}, 0, 0, at + 768n),
    'a pair of sockets': sys(${calls.socketpair}, 1, 1, 0, at + 896n),
    'descriptors in flight': sys(${calls.sendmsg}, mem.readInt32LE(896), at + 1024n, 0),
  }
)`;

it('a cell cannot even ask for what is counted by user, or what leads to another cell', async () => {
  const cell = await bench.boot();
  const told = (await ask(cell, `${defineRawCalls} say(${meetingPoints});`)) as object;
  expect(Object.entries(told).filter(([, result]) => result !== EPERM)).toEqual([]);
  expect(Object.keys(told)).toHaveLength(13);
  // What belongs to the process alone it has.
  const own = await ask(
    cell,
    `mem.fill(0); mem.writeInt16LE(1, 0);
     const file = fs.openSync('/tmp/own', 'w');
     say({
       pipe: sys(${calls.fcntl}, pipe, 1, 0) >= 0,
       lock: sys(${calls.fcntl}, file, 6, at),
       watch: (() => { const all = sys(${calls.epoll_create1}, 0); mem.writeUInt32LE(1, 512); return sys(${calls.epoll_ctl}, all, 1, pipe, at + 512n); })(),
     })`,
  );
  expect(own).toEqual({ pipe: true, lock: 0, watch: 0 });
});

it('the same calls go well outside of a cell', () => {
  const program = `const require = process.getBuiltinModule('node:module').createRequire('/');
    ${defineRawCalls} sys(${calls.keyctl}, 1, 0); console.log(JSON.stringify(${meetingPoints}));`;
  const node = [process.execPath, '--experimental-ffi', '--no-warnings', '--eval', program];
  // Namespaces and a session of its own, so that nothing of it stays, and process 1 is itself.
  const told = JSON.parse(execFileSync('unshare', ['--ipc', '--pid', '--fork', ...node], { encoding: 'utf8' }));
  expect(Object.entries(told).filter(([, result]) => (result as number) < 0)).toEqual([]);
  expect(Object.keys(told)).toHaveLength(13);
});
