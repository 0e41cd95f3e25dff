/** What a trace of cells does not explain by itself, as data that the tests of the trace hold against it. */

/**
 * Calls that ordinary runs of ours try and do without. Whoever adds one says who tries, and how it goes on. What Node.js
 * refuses to author code by itself is not among them, since no call comes of it: symlink, fsync and fdatasync by way of
 * node:fs, and the changes of an open file.
 */
export const expectedRefusals: Readonly<Record<string, string>> = {
  chmod: 'fs.chmod, which gives an error.',
  chown: 'fs.chown, which gives an error.',
  clone3: 'libc, which falls back on clone.',
  fanotify_init: 'tsc, which asks what watching it may do, and watches nothing.',
  fchown: 'SQLite, which gives a journal the owner of its database where it is root, and else does not mind.',
  getgroups: 'process.getgroups, which gives an error.',
  getpriority: 'os.getPriority.',
  inotify_init1: 'fs.watch, which gives an error.',
  io_uring_setup: 'libuv, which falls back on its thread pool.',
  kill: 'process.kill, which gives an error.',
  lchown: 'fs.lchown, which gives an error.',
  link: 'fs.link, which gives an error.',
  socket: 'dgram and c-ares, for a network that is not there.',
};

/** A name of the list that the trace does not show. */
export interface BeyondTrace {
  name: string;
  reason: string;
  /** Where it is shown to be needed: without the name this fails. */
  need?: { file: string; test: string };
}

export const beyondTrace: readonly BeyondTrace[] = [
  { name: 'clock_getres', reason: 'libuv, where the kernel has no fast way to its clock.' },
  { name: 'gettimeofday', reason: 'V8, where the kernel has no fast way to its clock.' },
  { name: 'pkey_alloc', reason: 'V8, on processors with protection keys.' },
  { name: 'pkey_free', reason: 'V8, on processors with protection keys.' },
  { name: 'pkey_mprotect', reason: 'V8, on processors with protection keys.' },
  {
    name: 'restart_syscall',
    reason: 'The kernel, for a wait with a time limit in which the process was stopped, as by a paused engine.',
    need: { file: 'test/security/seccomp-trace.test.ts', test: 'a cell that was stopped in a wait goes on waiting' },
  },
];

/** How many names may be in the list that neither the trace nor a test shows to be needed. */
export const headroom = 15;
