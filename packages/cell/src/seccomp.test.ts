import { cellPlanSchema } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { arm64Calls } from '../../../test/support/trace-arm64-calls.ts';
import { allowedNames, cellSeccomp, seccompOf } from './seccomp.ts';
import { compileSeccomp } from './seccomp-compile.ts';
import { probeCalls } from './syscalls.ts';

const everyName = [
  ...allowedNames('x64'),
  ...allowedNames('arm64'),
  ...cellSeccomp.conditional.flatMap(({ names }) => names),
  ...cellSeccomp.answered.flatMap(({ names }) => names),
];

it('names no call that makes a process, a namespace, a mount, a key or a way into another process', () => {
  const forbidden = [
    ...[
      'fork',
      'vfork',
      'unshare',
      'setns',
      'mount',
      'umount2',
      'pivot_root',
      'chroot',
      'move_mount',
      'open_tree',
      'fsopen',
    ],
    ...[
      'ptrace',
      'process_vm_readv',
      'process_vm_writev',
      'pidfd_getfd',
      'kcmp',
      'kill',
      'keyctl',
      'add_key',
      'request_key',
    ],
    ...[
      'bpf',
      'perf_event_open',
      'userfaultfd',
      'io_uring_setup',
      'io_uring_enter',
      'memfd_create',
      'mknod',
      'mknodat',
    ],
    ...[
      'shmget',
      'msgget',
      'semget',
      'mq_open',
      'setuid',
      'setgid',
      'setgroups',
      'personality',
      'modify_ldt',
      'bind',
      'listen',
    ],
    ...[
      'accept',
      'accept4',
      'init_module',
      'kexec_load',
      'name_to_handle_at',
      'open_by_handle_at',
      'seccomp',
      'execveat',
    ],
  ];
  expect(everyName.filter((name) => forbidden.includes(name))).toEqual([]);
});

it('names each call once and each group with a reason', () => {
  for (const arch of ['x64', 'arm64'] as const)
    expect(new Set(allowedNames(arch)).size).toBe(allowedNames(arch).length);
  const groups = [...cellSeccomp.allowed, ...cellSeccomp.conditional, ...cellSeccomp.answered];
  expect(groups.filter(({ reason }) => reason.length < 5)).toEqual([]);
  const conditional = cellSeccomp.conditional.flatMap(({ names }) => names);
  expect(conditional.filter((name) => allowedNames('x64').includes(name))).toEqual([]);
});

it('keeps calls that only x64 has out of the list of arm64', () => {
  const legacy = ['access', 'arch_prctl', 'lstat', 'mkdir', 'readlink', 'rename', 'rmdir', 'stat', 'unlink'];
  expect(allowedNames('x64')).toEqual(expect.arrayContaining(legacy));
  expect(allowedNames('arm64').filter((name) => legacy.includes(name))).toEqual([]);
});

it('agrees with the probe: what the probe expects to be refused is not free, and its controls are allowed', () => {
  const bare = probeCalls.filter(({ name }) => !name.includes(':'));
  const free = new Set(allowedNames('x64'));
  expect(bare.filter(({ expect: expected, name }) => expected !== 'allowed' && free.has(name))).toEqual([]);
  expect(bare.filter(({ expect: expected, name }) => expected === 'allowed' && !free.has(name))).toEqual([]);
});

it('compiles for arm64 no name that its table has not', () => {
  const table = new Set(arm64Calls);
  for (const role of cellPlanSchema.shape.role.options) {
    const list = seccompOf(role);
    const names = compileSeccomp('arm64', list).syscalls.flatMap((rule) => rule.names);
    expect(names.filter((name) => !table.has(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['read', 'clone', 'clone3']));
    // The table tells: it lacks what only x64 has.
    expect(allowedNames('x64', list).filter((name) => !table.has(name))).toEqual(
      expect.arrayContaining(['arch_prctl', 'mkdir', 'stat', 'unlink']),
    );
  }
});

it.each([
  ['run', []],
  ['probe', []],
  ['tests', ['chdir']],
  ['bundle', []],
  ['types', []],
] as const)('gives a %s cell these calls more than every cell has, and no other: %j', (role, more) => {
  const common = allowedNames('x64');
  const names = allowedNames('x64', seccompOf(role));
  expect(names.filter((name) => !common.includes(name))).toEqual(more);
  expect(common.filter((name) => !names.includes(name))).toEqual([]);
});
