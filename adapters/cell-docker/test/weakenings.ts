import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Weakening } from '@glovebox/cell';
import { uidRange } from '@glovebox/cell/host';
import type { CellId } from '@glovebox/contract';
import type { CreateBody, DockerDriverOptions, HostConfig } from '../src/index.ts';

/** How one thing is taken away, in the words of this driver. */
export interface DockerWeakening {
  options?: Pick<DockerDriverOptions, 'weakenForTest' | 'ignoreDeadlineForTest'>;
  /** Done to a live cell, and again after its dispatch, which tells the engine its share anew. */
  lift?(cell: CellId): void;
  /** Properties that go with it by the nature of the kernel, and why. */
  also?: Readonly<Record<string, string>>;
  /**
   * By whom such a cell is refused before it can be judged. `driver`: it holds what the engine says that it made against what
   * a cell may be, and names the property.
   */
  refused?: 'driver';
  /** Why an engine cannot be told of it. */
  cannot?: string;
}

/** The whole table, checked by the compiler to leave nothing out. */
export function dockerWeakenings(claimsDirectory: string): Record<Weakening, DockerWeakening> {
  return {
    'mount-namespace': { cannot: 'it has no word for a container without a mount namespace' },
    // The engine would add by itself that there are no labels then.
    'ipc-namespace': words((body) => ({
      ...body,
      HostConfig: {
        ...body.HostConfig,
        IpcMode: 'host',
        SecurityOpt: [...body.HostConfig.SecurityOpt, 'label=disable'],
      },
    })),
    'uts-namespace': { ...unasked({ UTSMode: 'host' }, { Hostname: '' }), refused: 'driver' },
    'cgroup-namespace': host({ CgroupnsMode: 'host' }),
    'user-namespace': { cannot: 'only an engine that maps ids has one, for all containers alike' },
    'pid-namespace': { ...unasked({ PidMode: 'host' }), refused: 'driver' },
    'network-namespace': {
      ...words((body) => ({
        ...body,
        NetworkDisabled: false,
        HostConfig: { ...body.HostConfig, NetworkMode: 'host' },
      })),
      refused: 'driver',
    },
    'host-uid': words((body) => ({
      ...body,
      User: '65532:65532',
      HostConfig: { ...body.HostConfig, Tmpfs: scratch(body, /([ug]id)=\d+/g, '$1=65532') },
    })),
    capability: host({ CapDrop: capabilitiesButOne }),
    'new-privileges': {
      ...words((body) => withFilter(withoutOption(body), (rules) => [...rules, allow(runtimeCalls)])),
      also: { seccomp: 'the filter is then loaded before the runtime is done, and must let it make calls of its own' },
    },
    'system-call': words((body) => withFilter(body, (rules) => [...rules, allow(['memfd_create'])])),
    'socket-family': words((body) =>
      withFilter(body, (rules) => [
        ...rules,
        { ...allow(['socket']), args: [{ index: 0, value: 2, op: 'SCMP_CMP_EQ' }] },
      ]),
    ),
    'writable-root': host({ ReadonlyRootfs: false }),
    'host-mount': { ...unasked({ Binds: ['/usr/share:/tmp/host:ro'] }), refused: 'driver' },
    'writable-devices': words(({ HostConfig, ...body }) => ({
      ...body,
      HostConfig: { ...HostConfig, ReadonlyPaths: HostConfig.ReadonlyPaths.filter((path) => path !== '/dev/zero') },
    })),
    'whole-proc': words(({ HostConfig, ...body }) => ({
      ...body,
      HostConfig: { ...HostConfig, MaskedPaths: HostConfig.MaskedPaths.filter((path) => !path.startsWith('/proc/')) },
    })),
    'executable-scratch': words((body) => ({
      ...body,
      HostConfig: { ...body.HostConfig, Tmpfs: scratch(body, /noexec/g, 'exec') },
    })),
    'message-queues': words(({ HostConfig, ...body }) => ({
      ...body,
      HostConfig: { ...HostConfig, Ulimits: HostConfig.Ulimits.filter(({ Name }) => Name !== 'msgqueue') },
    })),
    'host-variable': words((body) => ({ ...body, Env: [...body.Env, 'HOST_SETTING=1'] })),
    'open-descriptor': words((body) => ({ ...body, Cmd: withOpenDescriptor(body.Cmd) })),
    'memory-limit': host({ Memory: 0, MemorySwap: 0 }),
    'pids-limit': host({ PidsLimit: 0 }),
    'cpu-limit': { lift: (cell) => liftCpuLimit(claimsDirectory, cell) },
    deadline: { options: { ignoreDeadlineForTest: true } },
  };
}

const words = (weakenForTest: (body: CreateBody) => CreateBody): DockerWeakening => ({ options: { weakenForTest } });

const host = (change: Partial<HostConfig>): DockerWeakening =>
  words((body) => ({ ...body, HostConfig: { ...body.HostConfig, ...change } }));

/** Words that the driver itself never says. */
const unasked = (change: Record<string, unknown>, more: Partial<CreateBody> = {}): DockerWeakening =>
  words((body) => ({ ...body, ...more, HostConfig: { ...body.HostConfig, ...change } }));

/** Those that an engine gives unasked, but for the one to bind low ports. */
const capabilitiesButOne = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD'],
  ...['NET_RAW', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

/** What a runtime calls between loading the filter and becoming the cell. */
const runtimeCalls = [
  ...['capget', 'capset', 'prctl', 'setgid', 'setgroups', 'setresgid', 'setresuid', 'setuid'],
  ...['chdir', 'faccessat2', 'fchown', 'newfstatat', 'setfsgid', 'setfsuid'],
];

const scratch = ({ HostConfig: { Tmpfs } }: CreateBody, what: RegExp, by: string): HostConfig['Tmpfs'] =>
  Object.fromEntries(Object.entries(Tmpfs).map(([path, options]) => [path, options.replace(what, by)]));

interface FilterRule {
  names: string[];
  action: string;
  args?: unknown[];
}

const allow = (names: string[]): FilterRule => ({ names, action: 'SCMP_ACT_ALLOW' });

const withoutOption = (body: CreateBody): CreateBody => ({
  ...body,
  HostConfig: {
    ...body.HostConfig,
    SecurityOpt: body.HostConfig.SecurityOpt.filter((option) => option !== 'no-new-privileges'),
  },
});

/** A name that is added whole has no other rule. */
function withFilter(body: CreateBody, change: (rules: FilterRule[]) => FilterRule[]): CreateBody {
  const SecurityOpt = body.HostConfig.SecurityOpt.map((option) => {
    if (!option.startsWith('seccomp=')) return option;
    const filter = JSON.parse(option.slice('seccomp='.length)) as { syscalls: FilterRule[] };
    const rules = change(filter.syscalls);
    const whole = new Set(rules.slice(filter.syscalls.length).flatMap(({ names, args }) => (args ? [] : names)));
    const others = rules.slice(0, filter.syscalls.length).flatMap((rule) => {
      const names = rule.names.filter((name) => !whole.has(name));
      return names.length === 0 ? [] : [{ ...rule, names }];
    });
    return `seccomp=${JSON.stringify({ ...filter, syscalls: [...others, ...rules.slice(filter.syscalls.length)] })}`;
  });
  return { ...body, HostConfig: { ...body.HostConfig, SecurityOpt } };
}

/** The probe finds it as it would one that a runtime leaked: nothing else is open at its start. */
function withOpenDescriptor([node = '', ...args]: readonly string[]): string[] {
  const script = args.at(-1) ?? '';
  return [node, '--eval', `require('node:fs').openSync('/'); require(${JSON.stringify(script)});`];
}

/** In the cgroup of the process that has the cell's uid, which the claim of the cell tells. */
function liftCpuLimit(claimsDirectory: string, cell: CellId): void {
  const slot = readdirSync(claimsDirectory).find((name) =>
    readdirSync(join(claimsDirectory, name)).some((held) => held.includes(cell)),
  );
  const uid = uidRange.first + 2 * Number(slot) + 1;
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && uidOf(name) === uid);
  if (pid === undefined) throw new Error(`cell ${cell} has no process`);
  const path = /^\d+:(?:.*,)?cpu(?:,.*)?:(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
  const [, , , , mountPoint] =
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((line) => / - cgroup .*\bcpu\b/.test(line) && !/ - cgroup .*\bcpuset\b/.test(line))
      ?.split(' ') ?? [];
  if (path === undefined || mountPoint === undefined) throw new Error('there is no cgroup of version 1 for cpu');
  writeFileSync(join(mountPoint, path, 'cpu.cfs_quota_us'), '-1');
}

function uidOf(pid: string): number | undefined {
  try {
    return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}
