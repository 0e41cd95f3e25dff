import {
  type ChannelWiring,
  cellCommand,
  cellEnvironment,
  cellPaths,
  cellUid,
  compileSeccomp,
  type SeccompProfile,
  type SyscallArch,
  seccompOf,
} from '@glovebox/cell';
import type { CellPlan } from '@glovebox/contract';

/** The part of the OCI runtime specification 1.0.2 that cells use. */
export interface OciSpec {
  ociVersion: string;
  process: {
    terminal: boolean;
    user: { uid: number; gid: number; umask?: number; additionalGids: number[] };
    args: string[];
    env: string[];
    cwd: string;
    capabilities: Record<'bounding' | 'effective' | 'permitted' | 'inheritable' | 'ambient', string[]>;
    rlimits: { type: string; hard: number; soft: number }[];
    noNewPrivileges: boolean;
    oomScoreAdj: number;
    apparmorProfile?: string;
  };
  root: { path: string; readonly: boolean };
  hostname: string;
  domainname: string;
  mounts: OciMount[];
  linux: {
    namespaces: { type: string; path?: string }[];
    uidMappings: IdMapping[];
    gidMappings: IdMapping[];
    cgroupsPath?: string;
    maskedPaths: string[];
    readonlyPaths: string[];
    rootfsPropagation: string;
    seccomp?: SeccompProfile;
  };
}

export interface OciMount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

interface IdMapping {
  containerID: number;
  hostID: number;
  size: number;
}

export interface SpecInputs {
  plan: CellPlan;
  /** Where the launcher puts the image's root in its private mount namespace. */
  rootPath: string;
  /** Host ids of container id 0 and of the cell's own id. */
  ids: { rootId: number; cellId: number };
  arch: SyscallArch;
  /** Whether this kernel can show a /proc of nothing but processes. */
  procSubset: boolean;
  cgroupsPath?: string;
  apparmorProfile?: string;
  wiring?: ChannelWiring;
}

export const cellHostname = 'cell';
/** Above everything that matters: where the whole host is short of memory, cells go first. */
export const cellOomScoreAdj = 500;

/** Where /proc cannot be had without them, parts of it that tell of the host or reach it. */
const maskedProcPaths = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/bus',
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/diskstats',
  '/proc/driver',
  '/proc/fs',
  '/proc/interrupts',
  '/proc/iomem',
  '/proc/ioports',
  '/proc/irq',
  '/proc/kallsyms',
  '/proc/kcore',
  '/proc/key-users',
  '/proc/keys',
  '/proc/kmsg',
  '/proc/kpagecount',
  '/proc/kpageflags',
  '/proc/latency_stats',
  '/proc/locks',
  '/proc/modules',
  '/proc/partitions',
  '/proc/sched_debug',
  '/proc/schedstat',
  '/proc/scsi',
  '/proc/slabinfo',
  '/proc/softirqs',
  '/proc/swaps',
  '/proc/sysrq-trigger',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/vmallocinfo',
  '/proc/zoneinfo',
];
const readonlyProcPaths = ['/proc/sys'];

/**
 * The runtime shows the host's own devices. On a mount that can be written anybody may set the times of one, for the host
 * and all other cells to see. Reading from a device and writing to it do not depend on that. A runtime opens descriptor 0
 * anew from here.
 */
const readonlyDevices = ['/dev/full', '/dev/null', '/dev/random', '/dev/tty', '/dev/urandom', '/dev/zero'];

/** The runtime adds a terminal device to /dev unasked; with null bound over it nothing there is a terminal. */
const maskedDevices = ['/dev/tty'];

const scratchOptions = ['nosuid', 'noexec', 'nodev'];

/**
 * The one translation of a plan into a runtime's words. Nothing here is taken from a package, a manifest or the
 * environment: a cell's command, environment, mounts and devices are the same for every node.
 */
export function makeSpec(inputs: SpecInputs): OciSpec {
  const { plan, ids } = inputs;
  const nothing: string[] = [];
  const mapping = [
    { containerID: 0, hostID: ids.rootId, size: 1 },
    { containerID: cellUid, hostID: ids.cellId, size: 1 },
  ];
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: cellUid, gid: cellUid, umask: 0o077, additionalGids: [] },
      args: cellCommand(plan, inputs.wiring),
      env: Object.entries(cellEnvironment).map(([name, value]) => `${name}=${value}`),
      // Fixed, so that a descriptor that a runtime leaks cannot become the working directory (CVE-2024-21626).
      cwd: '/',
      capabilities: {
        bounding: nothing,
        effective: nothing,
        permitted: nothing,
        inheritable: nothing,
        ambient: nothing,
      },
      rlimits: makeRlimits(plan),
      noNewPrivileges: true,
      oomScoreAdj: cellOomScoreAdj,
      ...(inputs.apparmorProfile === undefined ? {} : { apparmorProfile: inputs.apparmorProfile }),
    },
    root: { path: inputs.rootPath, readonly: true },
    hostname: cellHostname,
    domainname: cellHostname,
    mounts: [
      {
        destination: '/proc',
        type: 'proc',
        source: 'proc',
        options: ['nosuid', 'noexec', 'nodev', ...(inputs.procSubset ? ['subset=pid'] : [])],
      },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['ro', 'nosuid', 'noexec', 'mode=755', 'size=64k', 'nr_inodes=32'],
      },
      {
        destination: cellPaths.scratch,
        type: 'tmpfs',
        source: 'tmpfs',
        options: [
          ...scratchOptions,
          `size=${plan.limits.scratchBytes}`,
          // The directory itself is one.
          `nr_inodes=${plan.limits.scratchInodes + 1}`,
          'mode=0700',
          `uid=${cellUid}`,
          `gid=${cellUid}`,
        ],
      },
    ],
    linux: {
      namespaces: ['pid', 'mount', 'network', 'ipc', 'uts', 'cgroup', 'user'].map((type) => ({ type })),
      uidMappings: mapping,
      gidMappings: mapping,
      ...(inputs.cgroupsPath === undefined ? {} : { cgroupsPath: inputs.cgroupsPath }),
      maskedPaths: [...maskedDevices, ...(inputs.procSubset ? [] : maskedProcPaths)],
      readonlyPaths: [...readonlyDevices, ...(inputs.procSubset ? [] : readonlyProcPaths)],
      rootfsPropagation: 'private',
      seccomp: compileSeccomp(inputs.arch, seccompOf(plan.role)),
    },
  };
}

/** More than all cores for all of the lifetime: the backstop for a driver that can no longer kill. */
export const cpuSeconds = ({ cpu, bootCpu, lifetimeMs }: CellPlan['limits']): number =>
  Math.ceil((lifetimeMs / 1000) * Math.max(cpu, bootCpu)) + 1;

/**
 * Soft and hard alike. NPROC stands above the pids limit, so that it is the cgroup that refuses and counts.
 */
function makeRlimits({ limits }: CellPlan): OciSpec['process']['rlimits'] {
  const values: Record<string, number> = {
    RLIMIT_CORE: 0,
    RLIMIT_CPU: cpuSeconds(limits),
    // No file is larger than the one place where files can be written; a page more, so that ENOSPC comes first.
    RLIMIT_FSIZE: limits.scratchBytes + 4096,
    RLIMIT_MEMLOCK: 65_536,
    RLIMIT_MSGQUEUE: 0,
    RLIMIT_NICE: 0,
    RLIMIT_NOFILE: limits.openFiles,
    RLIMIT_NPROC: limits.pids + 64,
    RLIMIT_RTPRIO: 0,
    RLIMIT_SIGPENDING: 256,
    RLIMIT_STACK: 8 * 1024 * 1024,
  };
  return Object.entries(values).map(([type, value]) => ({ type, hard: value, soft: value }));
}
