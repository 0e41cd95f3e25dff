import { readFileSync } from 'node:fs';
import { release as kernelRelease } from 'node:os';
import type { SyscallArch } from '@glovebox/cell';
import { isBelow } from '@glovebox/cell/host';
import { type AcceptableRisk, type CellClass, GloveboxError } from '@glovebox/contract';
import { type CgroupHierarchies, hybridMountPoint, readHierarchies } from './cgroup-hierarchies.ts';
import { findLaunchTools, type LaunchTools } from './launch.ts';
import type { ResolvedOptions } from './options.ts';
import { findRuntime, holesRefusal, type Runtime } from './runtime.ts';

/** What a boot needs to know of the host. Found once by a driver for each class; a failure is not remembered. */
export interface Host {
  arch: SyscallArch;
  runtime: Runtime;
  tools: LaunchTools;
  hierarchies: CgroupHierarchies;
  hybridMountPoint: string | undefined;
  procSubset: boolean;
  apparmorProfile: string | undefined;
}

/** @throws GloveboxError as findRuntime does, and `HOST_UNSUPPORTED` where a runtime has a hole that nobody accepted. */
export async function readHost(options: ResolvedOptions, cellClass: CellClass): Promise<Host> {
  requirePlatform();
  requireRoot();
  requireUserNamespaces();
  const tools = findLaunchTools();
  const hierarchies = readHierarchies();
  const runtime = await findRuntime(options.runtime, cellClass, options.programDeadlineMs);
  const refused = refusalOf(runtime, options.acceptedRisks);
  if (refused !== undefined) throw refused;
  return {
    arch: process.arch as SyscallArch,
    runtime,
    tools,
    hierarchies,
    hybridMountPoint: hybridMountPoint(hierarchies),
    procSubset: kernelHasProcSubset(),
    apparmorProfile: readApparmor().loaded,
  };
}

/** The risks that cells on this runtime take. */
export const risksTaken = ({ kind, verdict }: Runtime): AcceptableRisk[] => [
  ...(verdict.open.length > 0 ? (['runtime-below-floor'] as const) : []),
  ...(kind === 'runsc' ? (['scratch-inodes-unlimited'] as const) : []),
];

/** @returns why no cell boots on this runtime; undefined where every risk of it is accepted. */
function refusalOf(runtime: Runtime, accepted: readonly AcceptableRisk[]): GloveboxError | undefined {
  const [refused] = risksTaken(runtime).filter((risk) => !accepted.includes(risk));
  if (refused === undefined) return undefined;
  if (refused === 'runtime-below-floor') return holesRefusal(runtime);
  return new GloveboxError('HOST_UNSUPPORTED', { message: `${scratchInodes.detail}.`, hint: scratchInodes.hint });
}

/** By themselves many files fill no more than the memory of their own cell, which then ends as short of memory. */
export const scratchInodes = {
  detail: 'runsc cannot bound the number of files in the scratch directory',
  hint: 'Accept the risk scratch-inodes-unlimited, or use class ns.',
} as const;

export function requirePlatform(): void {
  if (process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')) return;
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `Cells need Linux on x64 or arm64, not ${process.platform} on ${process.arch}.`,
  });
}

export function requireRoot(): void {
  if (process.geteuid?.() !== 0) throw new GloveboxError('PRIVILEGE_MISSING');
}

/** @returns how many this host allows, or undefined where the kernel has none or does not tell. */
export function readUserNamespaceLimit(): number | undefined {
  try {
    return Number(readFileSync('/proc/sys/user/max_user_namespaces', 'utf8'));
  } catch {
    return undefined;
  }
}

export function requireUserNamespaces(): void {
  const limit = readUserNamespaceLimit();
  if (limit === undefined)
    throw new GloveboxError('USERNS_UNAVAILABLE', { message: 'This kernel has no user namespaces.' });
  if (!(limit > 0)) throw new GloveboxError('USERNS_UNAVAILABLE', { message: 'user.max_user_namespaces is 0.' });
}

/** `subset=pid` came with Linux 5.8. */
export const kernelHasProcSubset = (): boolean => !isBelow(kernelRelease(), '5.8');

export const apparmorProfileName = 'glovebox-cell';

/** AppArmor as it stands: whether the kernel has it on, and our profile where it is loaded. */
export function readApparmor(): { enabled: boolean; loaded: string | undefined } {
  try {
    if (!readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').startsWith('Y'))
      return { enabled: false, loaded: undefined };
  } catch {
    return { enabled: false, loaded: undefined };
  }
  try {
    const profiles = readFileSync('/sys/kernel/security/apparmor/profiles', 'utf8').split('\n');
    const found = profiles.some((line) => line.startsWith(`${apparmorProfileName} (enforce)`));
    return { enabled: true, loaded: found ? apparmorProfileName : undefined };
  } catch {
    return { enabled: true, loaded: undefined };
  }
}
