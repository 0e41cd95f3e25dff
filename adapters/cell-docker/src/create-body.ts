import {
  cellCommand,
  cellEnvironment,
  cellHostname,
  cellOomScoreAdj,
  cellPaths,
  cellRlimits,
  compileSeccomp,
  maskedProcPaths,
  readonlyDevices,
  readonlyProcPaths,
  type SyscallArch,
  seccompOf,
} from '@glovebox/cell';
import type { CellPlan } from '@glovebox/contract';

/** The part of an engine's words for a new container that cells use. Names are the API's. */
export interface CreateBody {
  Image: string;
  User: string;
  Hostname: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  Labels: Record<string, string>;
  NetworkDisabled: boolean;
  Healthcheck: { Test: string[] };
  Tty: boolean;
  OpenStdin: boolean;
  StdinOnce: boolean;
  AttachStdin: boolean;
  AttachStdout: boolean;
  AttachStderr: boolean;
  HostConfig: HostConfig;
}

/** What of a container can be changed while it runs. */
export interface ContainerLimits {
  /** Memory, and memory and swap together: the same for no swap. */
  Memory: number;
  MemorySwap: number;
  NanoCpus: number;
  PidsLimit: number;
}

export interface HostConfig extends ContainerLimits {
  Runtime?: string;
  NetworkMode: string;
  ReadonlyRootfs: boolean;
  Privileged: boolean;
  CapDrop: string[];
  SecurityOpt: string[];
  IpcMode: string;
  CgroupnsMode: string;
  LogConfig: { Type: string; Config: Record<string, string> };
  OomScoreAdj: number;
  RestartPolicy: { Name: string; MaximumRetryCount: number };
  Tmpfs: Record<string, string>;
  Ulimits: { Name: string; Soft: number; Hard: number }[];
  MaskedPaths: string[];
  ReadonlyPaths: string[];
}

export interface BodyInputs {
  plan: CellPlan;
  /** Container uid and gid of the cell. */
  uid: number;
  labels: Record<string, string>;
  arch: SyscallArch;
  /** Ends what a builder cell says on its channel; see ChannelWiring. */
  marker: string;
  /** Other than that of the plan's role: for programs of this driver that try an engine out. */
  command?: readonly string[];
  /** As registered at the engine; its own default where it is left out. */
  runtime?: string;
  /** The system-call list as text. */
  seccomp: string;
}

/** The system-call list of a plan, as text. */
export const seccompText = (plan: CellPlan, arch: SyscallArch): string =>
  JSON.stringify(compileSeccomp(arch, seccompOf(plan.role)));

/** What an engine mounts or makes unasked. An empty directory or the null device is mounted over each. */
export const maskedPaths = [
  '/sys',
  '/dev/console',
  '/dev/mqueue',
  '/dev/ptmx',
  '/dev/pts',
  '/dev/shm',
  '/dev/tty',
  // A file of the engine's own directory, whatever the container's network is.
  '/etc/hostname',
  // Podman tells there that this is a container.
  '/run',
];

/** An engine cannot be told to show processes alone. */
const shownProcPaths = ['/proc/cpuinfo', '/proc/meminfo'];

/**
 * Cores from the boot on. To change them later takes an engine about as long as to start a small program, so a cell that
 * gets one core or more has its own share from the beginning; one that gets less would boot as much slower.
 */
export const initialCpu = ({ limits }: CellPlan): number =>
  limits.cpu >= 1 ? limits.cpu : Math.max(limits.cpu, Math.min(1, limits.bootCpu));

export const containerLimits = ({ limits }: CellPlan, cpu: number): ContainerLimits => ({
  Memory: limits.memoryBytes,
  MemorySwap: limits.memoryBytes,
  NanoCpus: Math.round(cpu * 1e9),
  PidsLimit: limits.pids,
});

/**
 * The one translation of a plan into an engine's words. Nothing here is taken from a package, a manifest or the environment:
 * a cell's command, environment, mounts and devices are the same for every node.
 */
export function makeCreateBody(inputs: BodyInputs): CreateBody {
  const { plan, uid } = inputs;
  const speaks = plan.role !== 'probe';
  return {
    Image: plan.image,
    User: `${uid}:${uid}`,
    Hostname: cellHostname,
    // A name without a value takes the variable away: an engine adds HOSTNAME by itself.
    Env: [...Object.entries(cellEnvironment).map(([name, value]) => `${name}=${value}`), 'HOSTNAME'],
    Entrypoint: [],
    Cmd: [...(inputs.command ?? cellCommand(plan, { kind: 'stdio', marker: inputs.marker }))],
    // Fixed, so that a descriptor that a runtime leaks cannot become the working directory (CVE-2024-21626).
    WorkingDir: '/',
    Labels: inputs.labels,
    NetworkDisabled: true,
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: speaks,
    // Nobody else can become the host of a cell, and one whose host is gone hears the end.
    StdinOnce: speaks,
    AttachStdin: speaks,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      ...(inputs.runtime === undefined ? {} : { Runtime: inputs.runtime }),
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', `seccomp=${inputs.seccomp}`],
      ...containerLimits(plan, initialCpu(plan)),
      IpcMode: 'none',
      CgroupnsMode: 'private',
      LogConfig: { Type: 'none', Config: {} },
      OomScoreAdj: cellOomScoreAdj,
      RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
      Tmpfs: { [cellPaths.scratch]: tmpfsOptions(inputs) },
      Ulimits: makeUlimits(plan),
      MaskedPaths: [...maskedProcPaths, ...shownProcPaths, ...maskedPaths],
      ReadonlyPaths: [...readonlyProcPaths, ...readonlyDevices],
    },
  };
}

function tmpfsOptions({ plan: { limits }, uid }: BodyInputs): string {
  return [
    ...['rw', 'noexec', 'nosuid', 'nodev', `size=${limits.scratchBytes}`],
    // The directory itself is one of its inodes.
    `nr_inodes=${limits.scratchInodes + 1}`,
    ...['mode=0700', `uid=${uid}`, `gid=${uid}`],
  ].join(',');
}

const makeUlimits = (plan: CellPlan): HostConfig['Ulimits'] =>
  cellRlimits(plan).map(([Name, value]) => ({ Name, Soft: value, Hard: value }));
