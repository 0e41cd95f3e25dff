import type { OciSpec } from '@glovebox/cell-oci';
import type { BenchCell } from './cell-bench.ts';

/** Node.js with its walls of hygiene down and foreign functions: what is refused then, the kernel refuses. */
export const withRawCalls = (spec: OciSpec): OciSpec => ({
  ...spec,
  process: {
    ...spec.process,
    args: spec.process.args.flatMap((arg) => {
      if (arg === '--permission' || arg.startsWith('--allow-')) return [];
      return arg === '--no-experimental-ffi' ? ['--experimental-ffi'] : [arg];
    }),
  },
});

/** `sys(number, ...arguments)` gives the result, or the errno below 0; `at` is the address of `mem`. */
export const defineRawCalls = `
  globalThis.fs = require('node:fs');
  globalThis.ffi = process.getBuiltinModule('node:ffi');
  globalThis.libc = ffi.dlopen(fs.readFileSync('/proc/self/maps', 'utf8').match(/\\S*libc\\.so\\.6/)[0], {
    syscall: { arguments: Array(7).fill('i64'), return: 'i64' },
    __errno_location: { arguments: [], return: 'pointer' },
  }).functions;
  globalThis.mem = Buffer.alloc(4096);
  globalThis.at = ffi.getRawPointer(mem);
  globalThis.sys = (nr, ...args) => {
    const result = Number(libc.syscall(BigInt(nr), ...[0, 1, 2, 3, 4, 5].map((i) => BigInt(args[i] ?? 0))));
    return result === -1 ? -ffi.getInt32(libc.__errno_location(), 0) : result;
  };
`;

/** Numbers of x86-64. */
export const calls = {
  shmget: 29,
  getpid: 39,
  sendmsg: 46,
  socketpair: 53,
  msgget: 68,
  fcntl: 72,
  rt_sigqueueinfo: 129,
  tgkill: 234,
  timer_create: 222,
  epoll_ctl: 233,
  mq_open: 240,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  inotify_init1: 294,
  epoll_create1: 291,
  pipe2: 293,
} as const;

/** Evaluate in a cell and take the next thing that it says. */
export async function ask(cell: BenchCell, code: string): Promise<unknown> {
  cell.run(code);
  return cell.heard();
}
