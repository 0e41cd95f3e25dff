import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Weakening } from '@glovebox/cell';
import type { CellId } from '@glovebox/contract';
import type { ForeignThings } from '../../../test/support/foreign-things.ts';
import { cgroupFolder, readHierarchies } from '../src/cgroup-hierarchies.ts';
import type { OciDriverOptions, OciSpec } from '../src/index.ts';

/** How one thing is taken away, in the words of this driver. */
export interface OciWeakening {
  options?: Pick<OciDriverOptions, 'weakenForTest' | 'ignoreDeadlineForTest'>;
  /** Done to a live cell, and again after its dispatch: its limits are the driver's own and in no specification. */
  lift?(cell: CellId): void;
  /** Properties that go with it by the nature of the kernel, and why. */
  also?: Readonly<Record<string, string>>;
  /**
   * What each runtime says where it boots no such cell. Then nothing is left to judge, and no test shows that the row can
   * fail: what keeps a cell from being so is the runtime alone.
   */
  refused?: Readonly<Record<'crun' | 'runc', string>>;
}

type Change = (spec: OciSpec) => OciSpec;

/** The whole table, checked by the compiler to leave nothing out. */
export function ociWeakenings({ namespaces, root, directory }: ForeignThings): Record<Weakening, OciWeakening> {
  const words = (weakenForTest: Change): OciWeakening => ({ options: { weakenForTest } });
  const joined = (kind: keyof typeof namespaces): OciWeakening =>
    words((spec) => joinNamespace(spec, kind, namespaces[kind]));
  return {
    'mount-namespace': {
      ...words((spec) => withNamespaces(spec, (all) => all.filter(({ type }) => type !== 'mount'))),
      // In a mount namespace that its user namespace does not own, nothing of a cell can be mounted.
      refused: {
        crun: 'mount `proc` to `proc`: Operation not permitted',
        runc: 'unable to restrict sys entries without a private MNT namespace',
      },
    },
    'ipc-namespace': joined('ipc'),
    // The runtime would set the names of one that is not its own, which the kernel refuses; they are set already.
    'uts-namespace': words((spec) => joinNamespace(withoutNames(spec), 'uts', namespaces.uts)),
    'cgroup-namespace': joined('cgroup'),
    'user-namespace': joined('user'),
    'pid-namespace': {
      ...words((spec) =>
        withMounts(
          withNamespaces(spec, (all) => all.filter(({ type }) => type !== 'pid')),
          (mounts) =>
            mounts.map((mount) =>
              mount.destination === '/proc'
                ? { ...mount, type: 'bind', source: '/proc', options: ['rbind', 'nosuid', 'noexec', 'nodev'] }
                : mount,
            ),
        ),
      ),
      also: {
        'proc-own-processes':
          'a new /proc shows a pid namespace to its owner only: what can be seen instead is all of the launcher’s',
      },
    },
    'network-namespace': joined('network'),
    'host-uid': words((spec) => ({
      ...spec,
      linux: {
        ...spec.linux,
        uidMappings: spec.linux.uidMappings.map((entry) =>
          entry.containerID === spec.process.user.uid ? { ...entry, hostID: entry.containerID } : entry,
        ),
      },
    })),
    capability: words((spec) =>
      withProcess(spec, { capabilities: { ...spec.process.capabilities, bounding: ['CAP_NET_BIND_SERVICE'] } }),
    ),
    'new-privileges': {
      ...words((spec) => withCalls(withProcess(spec, { noNewPrivileges: false }), runtimeCalls)),
      also: { seccomp: 'the filter is then loaded before the runtime is done, and must let it make calls of its own' },
    },
    'system-call': words((spec) => withCalls(spec, ['memfd_create'])),
    'socket-family': words((spec) => withRule(spec, { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [inet] })),
    'writable-root': words((spec) => ({ ...spec, root: { path: root, readonly: false } })),
    'host-mount': words((spec) =>
      withMounts(spec, (mounts) => [
        ...mounts,
        { destination: '/etc', type: 'bind', source: directory, options: ['bind', 'ro'] },
      ]),
    ),
    'writable-devices': words((spec) => withoutOption(spec, '/dev', 'ro')),
    'whole-proc': words((spec) => withoutOption(spec, '/proc', 'subset=pid')),
    'executable-scratch': words((spec) => withoutOption(spec, '/tmp', 'noexec')),
    'message-queues': words((spec) =>
      withProcess(spec, { rlimits: spec.process.rlimits.filter(({ type }) => type !== 'RLIMIT_MSGQUEUE') }),
    ),
    'host-variable': words((spec) => withProcess(spec, { env: [...spec.process.env, 'HOST_SETTING=1'] })),
    'open-descriptor': words((spec) => withProcess(spec, { args: withOpenDescriptor(spec.process.args) })),
    'memory-limit': {
      lift: (cell) => {
        const { version } = hierarchyOf('memory');
        // Version 1 lets memory be no more than memory and swap.
        const files = version === 1 ? ['memory.memsw.limit_in_bytes', 'memory.limit_in_bytes'] : ['memory.max'];
        for (const file of files) writeLimit(cell, 'memory', file, version === 1 ? '-1' : 'max');
      },
    },
    'pids-limit': { lift: (cell) => writeLimit(cell, 'pids', 'pids.max', 'max') },
    'cpu-limit': {
      lift: (cell) =>
        hierarchyOf('cpu').version === 1
          ? writeLimit(cell, 'cpu', 'cpu.cfs_quota_us', '-1')
          : writeLimit(cell, 'cpu', 'cpu.max', 'max'),
    },
    deadline: { options: { ignoreDeadlineForTest: true } },
  };
}

const inet = { index: 0, value: 2, op: 'SCMP_CMP_EQ' as const };

/** What runc and crun call between loading the filter and becoming the cell. */
const runtimeCalls = [
  ...['capget', 'capset', 'prctl', 'setgid', 'setgroups', 'setresgid', 'setresuid', 'setuid'],
  ...['chdir', 'faccessat2', 'fchown', 'newfstatat', 'setfsgid', 'setfsuid'],
];

type Namespaces = OciSpec['linux']['namespaces'];

const withNamespaces = (spec: OciSpec, change: (all: Namespaces) => Namespaces): OciSpec => ({
  ...spec,
  linux: { ...spec.linux, namespaces: change(spec.linux.namespaces) },
});

const joinNamespace = (spec: OciSpec, kind: string, path: string): OciSpec =>
  withNamespaces(spec, (all) => all.map((one) => (one.type === kind ? { type: kind, path } : one)));

function withoutNames(spec: OciSpec): OciSpec {
  const { hostname: _host, domainname: _domain, ...others } = spec;
  return others as OciSpec;
}

const withProcess = (spec: OciSpec, change: Partial<OciSpec['process']>): OciSpec => ({
  ...spec,
  process: { ...spec.process, ...change },
});

const withMounts = (spec: OciSpec, change: (mounts: OciSpec['mounts']) => OciSpec['mounts']): OciSpec => ({
  ...spec,
  mounts: change(spec.mounts),
});

const withoutOption = (spec: OciSpec, destination: string, option: string): OciSpec =>
  withMounts(spec, (mounts) =>
    mounts.map((mount) =>
      mount.destination === destination ? { ...mount, options: mount.options.filter((one) => one !== option) } : mount,
    ),
  );

type Seccomp = NonNullable<OciSpec['linux']['seccomp']>;

function withRule(spec: OciSpec, rule: Seccomp['syscalls'][number]): OciSpec {
  const { seccomp } = spec.linux;
  if (seccomp === undefined) throw new Error('there is no filter to weaken');
  return { ...spec, linux: { ...spec.linux, seccomp: { ...seccomp, syscalls: [...seccomp.syscalls, rule] } } };
}

/** Whatever else the list says of them. */
function withCalls(spec: OciSpec, names: readonly string[]): OciSpec {
  const { seccomp } = spec.linux;
  if (seccomp === undefined) throw new Error('there is no filter to weaken');
  const others = seccomp.syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !names.includes(name)) }))
    .filter((rule) => rule.names.length > 0);
  const linux = { ...spec.linux, seccomp: { ...seccomp, syscalls: others } };
  return withRule({ ...spec, linux }, { names: [...names], action: 'SCMP_ACT_ALLOW' });
}

/** The probe finds it as it would one that a runtime leaked: nothing else is open at its start. */
function withOpenDescriptor([node = '', ...args]: readonly string[]): string[] {
  const script = args.at(-1) ?? '';
  return [node, '--eval', `require('node:fs').openSync('/'); require(${JSON.stringify(script)});`];
}

function hierarchyOf(controller: string): { version: 1 | 2; mountPoint: string } {
  const found = readHierarchies().of(controller);
  if (found === undefined) throw new Error(`there is no cgroup controller for ${controller}`);
  return found;
}

/** In the limited cgroup of a cell: below its own where the runtime insists on one beside it. */
function writeLimit(cell: CellId, controller: string, file: string, value: string): void {
  const folder = join(hierarchyOf(controller).mountPoint, cgroupFolder);
  const name = readdirSync(folder).find((entry) => entry.includes(cell));
  if (name === undefined) throw new Error(`cell ${cell} has no cgroup for ${controller}`);
  const own = join(folder, name);
  const limited = readdirSync(own).includes('cell') ? join(own, 'cell') : own;
  writeFileSync(join(limited, file), value);
}
