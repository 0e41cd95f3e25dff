import {
  type ChannelWiring,
  cellCommand,
  cellEnvironment,
  cellHostname,
  cellOomScoreAdj,
  cellPaths,
  cellRlimits,
  cellUid,
  compileSeccomp,
  maskedProcPaths,
  readonlyDevices,
  readonlyProcPaths,
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

const makeRlimits = (plan: CellPlan): OciSpec['process']['rlimits'] =>
  cellRlimits(plan).map(([name, value]) => ({ type: `RLIMIT_${name.toUpperCase()}`, hard: value, soft: value }));
