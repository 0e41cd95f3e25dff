/**
 * System calls that the probe makes in a cell, one by one, and what must come of each. The arguments are such that a call
 * does no harm where it is allowed: wrong magic, closed descriptors, names that do not exist.
 *
 * Numbers are those of x86-64. A call that a filter refuses answers with the filter's errno before the kernel looks at
 * any argument, so `denied` means that errno (or ENOSYS) and not merely a failure.
 */
export interface ProbeCall {
  /** The call, and after a colon what it is tried for. Unique. */
  name: string;
  nr: number;
  /** At most six. A string is passed as a pointer to its bytes and a NUL; `'scratch'` below is a pointer to zeroed memory. */
  args: readonly ProbeArgument[];
  expect: 'allowed' | 'denied' | 'absent';
  /** A call that returns twice: the child must end at once. */
  forks?: true;
  /** A call whose result is a descriptor: it is closed again. */
  opens?: true;
}

export type ProbeArgument = number | bigint | { text: string } | { scratch: number };

const EPERM = 1;
const ENOSYS = 38;

/** Zeroed memory of the probe; `offset` leaves room for calls that write there. */
const scratch = (offset = 0): ProbeArgument => ({ scratch: offset });
const text = (value: string): ProbeArgument => ({ text: value });

const denied = (name: string, nr: number, ...args: ProbeArgument[]): ProbeCall => ({
  name,
  nr,
  args,
  expect: 'denied',
});
const deniedOpen = (name: string, nr: number, ...args: ProbeArgument[]): ProbeCall => ({
  ...denied(name, nr, ...args),
  opens: true,
});
const deniedFork = (name: string, nr: number, ...args: ProbeArgument[]): ProbeCall => ({
  ...denied(name, nr, ...args),
  forks: true,
});
const allowed = (name: string, nr: number, ...args: ProbeArgument[]): ProbeCall => ({
  name,
  nr,
  args,
  expect: 'allowed',
});
const allowedOpen = (name: string, nr: number, ...args: ProbeArgument[]): ProbeCall => ({
  ...allowed(name, nr, ...args),
  opens: true,
});

const SIGCHLD = 17;
const CLONE_VM = 0x100;
const CLONE_SIGHAND = 0x800;
const CLONE_THREAD = 0x1_0000;
const namespaceFlags = {
  mount: 0x2_0000,
  cgroup: 0x200_0000,
  uts: 0x400_0000,
  ipc: 0x800_0000,
  user: 0x1000_0000,
  pid: 0x2000_0000,
  net: 0x4000_0000,
  time: 0x80,
} as const;

const namespaces = Object.entries(namespaceFlags);

/** Address families that reach something: a network, the hypervisor (vsock), kernel configuration, crypto, devices. */
const families = {
  inet: 2,
  ax25: 3,
  inet6: 10,
  key: 15,
  netlink: 16,
  packet: 17,
  can: 29,
  tipc: 30,
  bluetooth: 31,
  alg: 38,
  vsock: 40,
  qipcrtr: 42,
  smc: 43,
  xdp: 44,
};

export const probeCalls: readonly ProbeCall[] = [
  // Controls: a probe in which everything fails must not pass.
  allowed('getpid', 39),
  allowed('gettid', 186),
  allowed('getuid', 102),
  allowed('read:nothing', 0, 0, scratch(), 0),
  allowed('clock_gettime', 228, 1, scratch()),
  allowed('getrandom', 318, scratch(), 16, 0),
  allowed('futex:wake', 202, scratch(), 1, 1, 0, 0, 0),
  allowedOpen('openat:root', 257, -100, text('/'), 0x10000, 0),
  allowedOpen('socket:unix', 41, 1, 1, 0),
  allowedOpen('eventfd2', 290, 0, 0),
  allowedOpen('epoll_create1', 291, 0),
  allowed('prctl:PR_SET_NAME', 157, 15, text('probe'), 0, 0, 0),
  allowed('uname', 63, scratch()),
  allowed('fcntl:F_GETFD', 72, 0, 1),

  // Processes. A run cell is one process with threads.
  deniedFork('fork', 57),
  deniedFork('vfork', 58),
  deniedFork('clone:process', 56, SIGCHLD, 0, 0, 0, 0),
  { ...deniedFork('clone3', 435, scratch(), 88), expect: 'absent' },
  ...namespaces
    .filter(([, flag]) => flag > 0xff)
    .map(([kind, flag]) => deniedFork(`clone:new-${kind}`, 56, flag + SIGCHLD, 0, 0, 0, 0)),
  denied(
    'clone:thread-with-user-namespace',
    56,
    CLONE_VM + CLONE_SIGHAND + CLONE_THREAD + namespaceFlags.user,
    0,
    0,
    0,
    0,
  ),
  deniedOpen('pidfd_open', 434, 1, 0),
  deniedOpen('pidfd_getfd', 438, -1, 0, 0),
  denied('pidfd_send_signal', 424, -1, 0, 0, 0),
  denied('kill:nothing', 62, 1, 0),
  denied('tkill:nothing', 200, 1, 0),
  denied('rt_sigqueueinfo', 129, 1, 0, scratch()),
  denied('wait4', 61, -1, 0, 1, 0),
  denied('ptrace:traceme', 101, 0, 0, 0, 0),
  denied('ptrace:attach', 101, 16, 1, 0, 0),
  denied('process_vm_readv', 310, 1, scratch(), 0, scratch(), 0, 0),
  denied('process_vm_writev', 311, 1, scratch(), 0, scratch(), 0, 0),
  denied('process_madvise', 440, -1, scratch(), 0, 0, 0),
  denied('kcmp', 312, 1, 1, 0, 0, 0),
  denied('setsid', 112),
  denied('setpgid', 109, 0, 0),
  denied('setpriority', 141, 0, 0, 0),
  denied('sched_setscheduler', 144, 0, 1, scratch()),
  denied('sched_setaffinity', 203, 0, 0, scratch()),
  denied('personality:query', 135, 0xffff_ffff),
  denied('execveat', 322, -1, text(''), 0, 0, 0x1000),

  // Namespaces and mounts
  ...namespaces.map(([kind, flag]) => denied(`unshare:${kind}`, 272, flag)),
  denied('setns', 308, -1, 0),
  denied('mount:proc', 165, text('proc'), text('/tmp'), text('proc'), 0, 0),
  denied('mount:cgroup', 165, text('cgroup'), text('/tmp'), text('cgroup'), 0, 0),
  denied('umount2', 166, text('/tmp'), 2),
  denied('pivot_root', 155, text('/'), text('/')),
  denied('chroot', 161, text('/')),
  deniedOpen('fsopen', 430, text('tmpfs'), 0),
  denied('fsconfig', 431, -1, 0, 0, 0, 0),
  denied('fsmount', 432, -1, 0, 0),
  deniedOpen('fspick', 433, -100, text('/'), 0),
  deniedOpen('open_tree', 428, -100, text('/'), 1),
  denied('move_mount', 429, -1, text(''), -1, text(''), 0),
  denied('mount_setattr', 442, -1, text(''), 0, scratch(), 0),
  denied('statmount', 457, scratch(), scratch(64), 0, 0),
  denied('listmount', 458, scratch(), scratch(64), 0, 0),

  // Files that reach outside
  denied('mknod:null-device', 133, text('/tmp/probe-node'), 0o20666, 0x103),
  denied('mknodat:null-device', 259, -100, text('/tmp/probe-node'), 0o20666, 0x103),
  denied('link', 86, text('/usr/bin/node'), text('/tmp/probe-link')),
  denied('symlink', 88, text('/'), text('/tmp/probe-link')),
  denied('chown', 92, text('/tmp'), 0, 0),
  denied('setxattr', 188, text('/tmp'), text('user.probe'), scratch(), 0, 0),
  denied('name_to_handle_at', 303, -100, text('/'), scratch(), scratch(128), 0),
  deniedOpen('open_by_handle_at', 304, -1, scratch(), 0),
  deniedOpen('openat2', 437, -100, text('/'), scratch(), 24),
  deniedOpen('fanotify_init', 300, 0, 0),
  deniedOpen('inotify_init', 253),
  deniedOpen('inotify_init1', 294, 0),
  deniedOpen('memfd_create', 319, text('probe'), 0),
  deniedOpen('memfd_secret', 447, 0),
  deniedOpen('userfaultfd', 323, 0),
  denied('acct', 163, text('/nonexistent/probe')),
  denied('quotactl', 179, 0x80_0007, text('/nonexistent'), 0, scratch()),
  denied('swapon', 167, text('/nonexistent'), 0),
  denied('swapoff', 168, text('/nonexistent')),
  denied('chdir', 80, text('/')),

  // Sockets
  ...Object.entries(families).map(([family, domain]) =>
    deniedOpen(`socket:${family}`, 41, domain, domain === 2 || domain === 10 ? 1 : 3, 0),
  ),
  deniedOpen('socket:inet-raw', 41, 2, 3, 1),
  deniedOpen('socket:inet-ping', 41, 2, 2, 1),
  deniedOpen('socket:unix-in-high-bits', 41, 0x1_0000_0002n, 1, 0),
  denied('socketpair:inet', 53, 2, 1, 0, scratch()),
  denied('socketpair:unix', 53, 1, 1, 0, scratch()),
  denied('sendto', 44, -1, scratch(), 0, 0, 0, 0),
  denied('recvfrom', 45, -1, scratch(), 0, 0, 0, 0),
  denied('sendmsg', 46, -1, scratch(), 0),
  denied('recvmsg', 47, -1, scratch(), 0),
  denied('shutdown', 48, -1, 0),
  denied('getpeername', 52, -1, scratch(), scratch(64)),
  denied('bind', 49, -1, scratch(), 0),
  denied('listen', 50, -1, 0),
  denied('accept4', 288, -1, 0, 0, 0),
  denied('sendmmsg', 307, -1, scratch(), 0, 0),
  denied('setsockopt', 54, -1, 1, 26, scratch(), 16),
  denied('getsockopt:SO_PEERPIDFD', 55, -1, 1, 77, scratch(), scratch(64)),
  denied('getsockopt:SO_PEERCRED', 55, -1, 1, 17, scratch(), scratch(64)),

  // Kernel surfaces
  deniedOpen('io_uring_setup', 425, 1, scratch()),
  denied('io_uring_enter', 426, -1, 0, 0, 0, 0, 0),
  denied('io_uring_register', 427, -1, 0, 0, 0),
  deniedOpen('bpf:map-create', 321, 0, scratch(), 0),
  deniedOpen('perf_event_open', 298, scratch(), 0, -1, -1, 0),
  denied('io_setup', 206, 0, scratch()),
  denied('keyctl:session', 250, 0, -3, 0, 0, 0),
  denied('add_key', 248, text('user'), text('probe'), scratch(), 1, -2),
  denied('request_key', 249, text('user'), text('probe'), 0, 0),
  denied('shmget', 29, 0, 4096, 0o600),
  denied('shmat', 30, -1, 0, 0),
  denied('semget', 64, 0, 1, 0o600),
  denied('msgget', 68, 0, 0o600),
  deniedOpen('mq_open', 240, text('probe'), 0o102, 0o600, 0),
  denied('seccomp:query', 317, 2, 0, scratch()),
  denied('landlock_create_ruleset:version', 444, 0, 0, 1),
  denied('modify_ldt', 154, 0, scratch(), 0),
  denied('iopl', 172, 0),
  denied('ioperm', 173, 0, 0, 0),
  denied('syslog', 103, 10, 0, 0),
  denied('kexec_load', 246, 0, 0, 0, 0xffff_0000),
  denied('kexec_file_load', 320, -1, -1, 0, 0, 0xffff),
  denied('init_module', 175, scratch(), 0, text('')),
  denied('finit_module', 313, -1, text(''), 0),
  denied('delete_module', 176, text('glovebox-probe-none'), 0o4000),
  denied('reboot:wrong-magic', 169, 0, 0, 0, 0),
  denied('sethostname', 170, text('probe'), 5),
  denied('setdomainname', 171, text('probe'), 5),
  denied('settimeofday', 164, 0, 0),
  denied('clock_settime', 227, -1, scratch()),
  denied('adjtimex', 159, scratch()),
  denied('timer_create', 222, 0, 0, scratch()),
  denied('lookup_dcookie', 212, 0, scratch(), 0),
  denied('vhangup', 153),
  denied('ustat', 136, 0, scratch()),
  denied('uselib', 134, text('/nonexistent')),
  denied('migrate_pages', 256, 0, 0, 0, 0),
  denied('set_mempolicy', 238, 0, 0, 0),
  denied('mlockall', 151, 0),
  denied('membarrier:query', 324, 0, 0, 0),
  denied('cachestat', 451, -1, scratch(), scratch(64), 0),

  // Identity
  denied('setuid:0', 105, 0),
  denied('setgid:0', 106, 0),
  denied('setresuid:0', 117, 0, 0, 0),
  denied('setfsuid:0', 122, 0),
  denied('setgroups', 116, 0, 0),
  denied('capset', 126, scratch(), 0),
  denied('setrlimit:core', 160, 4, scratch()),

  // Calls that are allowed for some arguments and not for these
  denied('ioctl:TIOCSTI', 16, 0, 0x5412, scratch()),
  denied('ioctl:TIOCSCTTY', 16, 0, 0x540e, 0),
  denied('ioctl:TIOCLINUX', 16, 0, 0x541c, scratch()),
  denied('ioctl:FICLONE', 16, 0, 0x4004_9409, -1),
  denied('ioctl:FIONBIO-in-high-bits', 16, 0, 0x1_0000_5412n, scratch()),
  denied('fcntl:F_NOTIFY', 72, -1, 1026, 0),
  denied('fcntl:F_SETLEASE', 72, -1, 1024, 0),
  denied('fcntl:F_SETOWN', 72, -1, 8, 0),
  denied('fcntl:F_SETSIG', 72, -1, 10, 0),
  denied('fcntl:F_ADD_SEALS', 72, -1, 1033, 0),
  denied('fcntl:F_SETPIPE_SZ', 72, -1, 1031, 0),
  denied('prctl:PR_SET_SECCOMP', 157, 22, 0, 0, 0, 0),
  denied('prctl:PR_SET_NO_NEW_PRIVS', 157, 38, 0, 0, 0, 0),
  denied('prctl:PR_CAPBSET_READ', 157, 23, 0, 0, 0, 0),
  denied('prctl:PR_CAP_AMBIENT', 157, 47, 1, 0, 0, 0),
  denied('prctl:PR_SET_PDEATHSIG', 157, 1, 0, 0, 0, 0),
  denied('prctl:PR_SET_MM', 157, 35, 0, 0, 0, 0),
  denied('prctl:PR_SET_PTRACER', 157, 0x5961_6d61, -1, 0, 0, 0),
  denied('prctl:PR_SET_CHILD_SUBREAPER', 157, 36, 0, 0, 0, 0),
  denied('prctl:PR_GET_SPECULATION_CTRL', 157, 52, 0, 0, 0, 0),
  denied('prctl:PR_SCHED_CORE', 157, 62, 0, 0, 0, 0),
];

/** What a result must be for a call to count as refused by the filter. */
export const refusalErrno = { denied: EPERM, absent: ENOSYS } as const;
