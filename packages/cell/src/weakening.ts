/**
 * What a test takes from a cell, or gives to it, so that one row of the conformance table must fail. Each driver says in
 * its own words how, for all of them: see `test/weakenings.ts` of the drivers. None does harm to the host: where a cell
 * shares something, it shares it with a process of the test.
 */
export const weakenings = {
  'mount-namespace': 'has no mount namespace of its own',
  'ipc-namespace': 'shares the ipc namespace of another process',
  'uts-namespace': 'shares the uts namespace of another process',
  'cgroup-namespace': 'shares the cgroup namespace of another process',
  'user-namespace': 'shares the user namespace of another process',
  'pid-namespace': 'shares the pid namespace of another process',
  'network-namespace': 'shares the network namespace of another process',
  'host-uid': 'runs under an id that is not set aside for cells',
  capability: 'keeps one capability, to bind low ports',
  'new-privileges': 'may gain privileges by executing a file',
  'system-call': 'may make one more system call',
  'socket-family': 'may make sockets of one more family',
  'writable-root': 'has a root that is mounted read-write',
  'host-mount': 'has a directory of the host in its file tree, read-only',
  'writable-devices': 'has a /dev that is mounted read-write',
  'whole-proc': 'sees all of /proc',
  'executable-scratch': 'may execute what it wrote to its scratch directory',
  'message-queues': 'has no limit on message queues of its own',
  'host-variable': 'has one more variable in its environment',
  'open-descriptor': 'is started with a directory open',
  'memory-limit': 'has no limit on its memory',
  'pids-limit': 'has no limit on its threads',
  'cpu-limit': 'has no limit on its processor time',
  deadline: 'is not killed at its deadline',
} as const satisfies Record<string, string>;

export type Weakening = keyof typeof weakenings;
