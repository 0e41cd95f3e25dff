import type { CellRole } from '@glovebox/contract';

/**
 * The system calls that a cell may make, as data, each group with its reason. Everything else fails with EPERM before the
 * kernel looks at its arguments. A driver compiles this to what its engine wants.
 *
 * The names are those that Node.js 26, tsc, esbuild and the runtimes' own last steps are seen to use in cells, and a few that
 * a trace on one host cannot show; `test/support/trace-names.ts` says of each of those why it is here. x64 is tested; the names of
 * arm64 are derived from its table (which has no legacy calls), and were never run.
 */
export type SyscallArch = 'x64' | 'arm64';

export interface SyscallGroup {
  /** Why a cell has these. */
  reason: string;
  names: readonly string[];
  /** Names that this architecture's table has and the others' have not. */
  only?: Partial<Record<SyscallArch, readonly string[]>>;
}

/** A call that is allowed only when one argument compares as told. Arguments are compared as 64 bits. */
export interface SyscallCondition {
  reason: string;
  names: readonly string[];
  argument: number;
  test: { kind: 'equal'; anyOf: readonly number[] } | { kind: 'masked'; mask: number; value: number };
}

/** A call that fails with an errno of its own, because libc falls back on that and not on EPERM. */
export interface SyscallAnswer {
  reason: string;
  names: readonly string[];
  errno: number;
}

export interface SeccompList {
  allowed: readonly SyscallGroup[];
  conditional: readonly SyscallCondition[];
  answered: readonly SyscallAnswer[];
  /** What all other calls fail with: EPERM. */
  defaultErrno: number;
}

const ENOSYS = 38;
const EPERM = 1;
const AF_UNIX = 1;

/** All CLONE_NEW* flags that clone(2) takes, and CLONE_THREAD, which must be the one that is set. */
const cloneMask = 0x7e03_0000;
const cloneThread = 0x0001_0000;

export const cellSeccomp: SeccompList = {
  defaultErrno: EPERM,
  allowed: [
    {
      reason:
        'Memory of the process itself. Files are mapped executable only from the read-only root: scratch is noexec.',
      names: ['brk', 'madvise', 'mmap', 'mprotect', 'mremap', 'munmap'],
    },
    {
      reason: 'V8 guards its code with protection keys, on processors that have them.',
      names: ['pkey_alloc', 'pkey_free', 'pkey_mprotect'],
    },
    {
      reason: 'Threads of V8 and libuv. They are counted by the pids limit.',
      names: ['exit', 'futex', 'gettid', 'rseq', 'sched_yield', 'set_robust_list', 'set_tid_address'],
    },
    {
      reason: 'The scheduling that threads read of themselves; none of these sets anything.',
      names: ['sched_getaffinity', 'sched_getparam', 'sched_getscheduler'],
    },
    {
      reason:
        'Signals inside the process, and going on after it was stopped. Programs in Go, which esbuild, tsc and runc are, stop their own threads by signals on stacks of their own, runc also under the filter; a new thread of theirs without sigaltstack dies. There is no kill: tgkill reaches the pid namespace of the cell, which holds the cell alone.',
      names: ['restart_syscall', 'rt_sigaction', 'rt_sigprocmask', 'rt_sigreturn', 'sigaltstack', 'tgkill'],
    },
    {
      reason:
        'Start and end. execve is how the runtime starts the cell and how a builder becomes its tool; nothing can fork.',
      names: ['execve', 'exit_group'],
      only: { x64: ['arch_prctl'] },
    },
    {
      reason: 'Identity, capabilities and limits as read. Nobody can gain a capability.',
      names: ['capget', 'getegid', 'geteuid', 'getgid', 'getpid', 'getppid', 'getuid', 'prlimit64', 'umask', 'uname'],
    },
    {
      reason: 'Clocks and counters. Most reads never enter the kernel, but where it has no fast way to its clock.',
      names: ['clock_getres', 'clock_gettime', 'clock_nanosleep', 'getrusage', 'gettimeofday', 'nanosleep', 'sysinfo'],
    },
    { reason: 'Randomness.', names: ['getrandom'] },
    {
      reason: 'Reading and writing open files.',
      names: [
        'close',
        'copy_file_range',
        'dup3',
        'fsync',
        'ftruncate',
        'lseek',
        'pread64',
        'preadv',
        'pwrite64',
        'pwritev',
        'read',
        'readv',
        'sendfile',
        'write',
        'writev',
      ],
    },
    {
      reason: 'Names in the file system: the root is read-only, scratch is limited in bytes and inodes.',
      names: [
        'fchmod',
        'fstat',
        'fstatfs',
        'getcwd',
        'getdents64',
        'newfstatat',
        'openat',
        'readlinkat',
        'statfs',
        'statx',
        'unlinkat',
        'utimensat',
      ],
      only: {
        x64: ['access', 'lstat', 'mkdir', 'readlink', 'rename', 'rmdir', 'stat', 'unlink'],
        arm64: ['faccessat', 'mkdirat', 'renameat', 'renameat2'],
      },
    },
    {
      reason: 'The event loop.',
      names: ['epoll_create1', 'epoll_ctl', 'epoll_pwait', 'eventfd2', 'pipe2'],
    },
    {
      reason:
        'The channel and the standard streams, which are unix sockets that the cell is born with, are read and written as files are. There is no bind, listen or accept; no sendmsg, by which a descriptor would travel; and no setsockopt, by which a program for the kernel would be attached to one.',
      names: ['connect', 'getsockname'],
    },
  ],
  conditional: [
    {
      reason: 'Threads only: no process, and no new namespace by way of clone.',
      names: ['clone'],
      argument: 0,
      test: { kind: 'masked', mask: cloneMask, value: cloneThread },
    },
    {
      reason:
        'Unix sockets alone: no IP, netlink, vsock (which is not bound to a network namespace), packet or crypto socket.',
      names: ['socket'],
      argument: 0,
      test: { kind: 'equal', anyOf: [AF_UNIX] },
    },
    {
      reason:
        'Copies and flags of descriptors, and the locks of SQLite: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC. No signals, no leases, and no F_NOTIFY, which would tell of other cells that read the same image.',
      names: ['fcntl'],
      argument: 1,
      test: { kind: 'equal', anyOf: [0, 1, 2, 3, 4, 5, 6, 7, 1030] },
    },
    {
      reason:
        'SO_TYPE and SO_ERROR. SO_PEERPIDFD would give a descriptor of the process at the other end of the channel, which is of the host.',
      names: ['getsockopt'],
      argument: 2,
      test: { kind: 'equal', anyOf: [3, 4] },
    },
    {
      reason:
        'What libuv asks of a descriptor: TCGETS, TIOCGWINSZ, FIONBIO, FIONREAD, FIOCLEX, FIONCLEX. TIOCSTI, which types into a terminal, is not among them.',
      names: ['ioctl'],
      argument: 1,
      test: { kind: 'equal', anyOf: [0x5401, 0x5413, 0x5421, 0x541b, 0x5451, 0x5450] },
    },
    {
      reason:
        'Names of threads and of memory (PR_SET_NAME, PR_SET_VMA), and whether a core may be dumped, which the limit of 0 decides anyway.',
      names: ['prctl'],
      argument: 0,
      test: { kind: 'equal', anyOf: [15, 0x53564d41, 3, 4] },
    },
  ],
  answered: [
    {
      reason: 'Its flags are behind a pointer, where a filter cannot see them. ENOSYS makes libc fall back on clone.',
      names: ['clone3'],
      errno: ENOSYS,
    },
  ],
};

/**
 * The list for one kind of cell. Those of a kind that are more than what every cell may call are named here, each with its
 * reason; the probe knows them by `extraCalls`.
 */
export function seccompOf(role: CellRole): SeccompList {
  const extra = extraCalls[role];
  return extra === undefined ? cellSeccomp : { ...cellSeccomp, allowed: [...cellSeccomp.allowed, extra] };
}

export const extraCalls: Partial<Record<CellRole, SyscallGroup>> = {
  tests: {
    reason:
      'Tests read files relative to the package, as they do where they are written: the tester enters the package, which is not there yet when the cell starts. It leads to no file that a path would not.',
    names: ['chdir'],
  },
};

/** The unconditional names for one architecture, sorted. */
export function allowedNames(arch: SyscallArch, list: SeccompList = cellSeccomp): string[] {
  return list.allowed.flatMap((group) => [...group.names, ...(group.only?.[arch] ?? [])]).sort();
}
