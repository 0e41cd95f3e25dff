import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CellGauges } from '@glovebox/cell';
import {
  errnoOf,
  type FoundClaim,
  hostError,
  type OwnedName,
  parseOwnedName,
  type UidClaims,
  uidRange,
} from '@glovebox/cell/host';
import type { InstanceId } from '@glovebox/contract';
import { listCellNames, listCgroups } from './cell-cgroup.ts';
import { cellsFolder, listCellFolders } from './cell-folder.ts';
import { type CgroupHierarchies, parseMountInfo } from './cgroup-hierarchies.ts';

export interface GaugesContext {
  instance: InstanceId;
  runDirectory: string;
  hierarchies: CgroupHierarchies;
  claims: UidClaims;
}

/**
 * Count what cells of one instance hold on this host, by looking only, whoever of its processes booted them, and whether
 * that one lives or not. Things are told apart by the name that they carry, processes also by cgroup and uid.
 *
 * What ends while we look is not counted. What cannot be told to be another instance's is: a thing of an illegible name, a
 * process of a cell's uid that nobody has claimed, a namespace or a mount table that may not be read.
 *
 * @throws GloveboxError `CGROUP_UNAVAILABLE`, `DATA_DIR_UNUSABLE`, `HOST_UNSUPPORTED` where a place cannot be looked at at
 *   all: then nothing is known, and not none.
 */
export function readGauges(context: GaugesContext): CellGauges {
  const { hierarchies, claims, runDirectory } = context;
  const mayBeOurs = (name: OwnedName | undefined): boolean =>
    name === undefined || name.owner.instance === context.instance;
  const cellOf = (text: string): string => parseOwnedName(text)?.cell ?? text;

  const folders = listCellFolders(runDirectory);
  const groups = listCellNames(hierarchies).filter((text) => mayBeOurs(parseOwnedName(text)));
  const cgroups = groups.flatMap((name) => listCgroups(hierarchies, name));
  const claimed = claims.list().filter((claim) => mayBeOurs(nameOf(claim)));
  const processes = findProcesses(context, cgroups);
  const named = [...processes.named.values()];
  const cells = new Set([
    ...[...folders, ...groups, ...named].map(cellOf),
    ...claimed.map((claim) => nameOf(claim)?.cell ?? claim.text),
  ]);
  const { namespaces, mounts } = readNamespaces(processes.pids);
  return {
    cells: cells.size,
    processes: processes.pids.size + processes.untold,
    cgroups: cgroups.length,
    mounts: mounts + countMountsBelow(cellsFolder(runDirectory)),
    namespaces,
    directories: folders.length,
    uidClaims: claimed.length,
  };
}

/** Whose cell has the uids, whether a keeper has a say in their release or not. */
const nameOf = ({ name, kept }: FoundClaim): OwnedName | undefined => name ?? kept?.name;

interface FoundProcesses {
  pids: Set<number>;
  /** The owned name that a launcher's or a runtime's arguments carry. */
  named: Map<number, string>;
  /** In a cgroup of ours, and of another pid namespace: they have no pid here. */
  untold: number;
}

function findProcesses(context: GaugesContext, cgroups: readonly string[]): FoundProcesses {
  const found: FoundProcesses = { pids: new Set(), named: new Map(), untold: 0 };
  for (const folder of cgroups) {
    const lines = readOrGone(join(folder, 'cgroup.procs'), 'CGROUP_UNAVAILABLE').split('\n');
    for (const line of lines) if (/^[1-9]\d*$/.test(line)) found.pids.add(Number(line));
    // Each is in one cgroup of every hierarchy: the fullest of these tells how many there are.
    found.untold = Math.max(found.untold, lines.filter((line) => line === '0').length);
  }
  const ownName = new RegExp(`/(cell_[0-9a-z]{22}\\.${context.instance}\\.[0-9a-f.-]+)(?:/|$)`);
  const unclaimed: number[] = [];
  const foreign = uidsOfOthers(context);
  for (const pid of listPids()) {
    const uid = uidOf(pid);
    if (isCellUid(uid) && !foreign.has(uid)) unclaimed.push(pid);
    const name = argumentsOf(pid)
      .map((argument) => ownName.exec(argument)?.[1])
      .find((text) => text !== undefined && parseOwnedName(text) !== undefined);
    if (name === undefined) continue;
    found.pids.add(pid);
    found.named.set(pid, name);
  }
  if (unclaimed.length === 0) return found;
  // A cell that began meanwhile was claimed after we looked. Claims outlive processes, so one of another's is there now.
  const foreignNow = uidsOfOthers(context);
  for (const pid of unclaimed) {
    const uid = uidOf(pid);
    if (isCellUid(uid) && !foreignNow.has(uid)) found.pids.add(pid);
  }
  return found;
}

function uidsOfOthers({ claims, instance }: GaugesContext): Set<number> {
  const others = claims.list().filter((claim) => {
    const name = nameOf(claim);
    return name !== undefined && name.owner.instance !== instance;
  });
  return new Set(others.flatMap(({ uids }) => uids ?? []));
}

const isCellUid = (uid: number | undefined): uid is number =>
  uid !== undefined && uid >= uidRange.first && uid < uidRange.first + 2 * uidRange.cells;

function listPids(): number[] {
  try {
    return readdirSync('/proc').flatMap((entry) => (/^\d+$/.test(entry) ? [Number(entry)] : []));
  } catch (thrown) {
    throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot list processes');
  }
}

/** The owner of /proc/<pid> is the process's effective uid. Undefined when it has ended; one that hides has any. */
function uidOf(pid: number): number | undefined {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch (thrown) {
    return isGone(thrown) ? undefined : uidRange.first;
  }
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/**
 * Namespaces that only processes of cells are in, and what is mounted in those that are of mounts. Others are looked at
 * only where there is something to tell apart.
 */
function readNamespaces(pids: ReadonlySet<number>): { namespaces: number; mounts: number } {
  if (pids.size === 0) return { namespaces: 0, mounts: 0 };
  const held = new Map<string, number>();
  for (const pid of pids) for (const namespace of namespacesOf(pid)) held.set(namespace, pid);
  for (const pid of listPids()) {
    if (pids.has(pid)) continue;
    for (const namespace of namespacesOf(pid)) held.delete(namespace);
  }
  let mounts = 0;
  for (const [namespace, pid] of held) {
    if (namespace.startsWith('mnt')) mounts += countMounts(pid);
  }
  return { namespaces: held.size, mounts };
}

/** One entry a kind, such as `mnt:[4026531841]`. One that may not be read is told apart from all others. */
function namespacesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/ns`)
      .filter((kind) => !kind.endsWith('_for_children'))
      .flatMap((kind) => {
        try {
          return [readlinkSync(`/proc/${pid}/ns/${kind}`)];
        } catch (thrown) {
          return isGone(thrown) ? [] : [`${kind}: of process ${pid}`];
        }
      });
  } catch (thrown) {
    return isGone(thrown) ? [] : [`of process ${pid}`];
  }
}

function countMounts(pid: number): number {
  try {
    return parseMountInfo(readFileSync(`/proc/${pid}/mountinfo`, 'utf8')).length;
  } catch (thrown) {
    return isGone(thrown) ? 0 : 1;
  }
}

/** In our own mount namespace nothing is mounted there, unless an administrator or another driver does it. */
const countMountsBelow = (folder: string): number =>
  parseMountInfo(readOrGone('/proc/self/mountinfo', 'HOST_UNSUPPORTED')).filter(({ mountPoint }) =>
    mountPoint.startsWith(`${folder}/`),
  ).length;

/** ESRCH, ENODEV: open still, and over. EINVAL: a process that has ended and whose parent has yet to look. */
const isGone = (thrown: unknown): boolean => ['ENOENT', 'ESRCH', 'ENODEV', 'EINVAL'].includes(errnoOf(thrown));

/** @returns `''` for what is there no more, and for a threaded cgroup, which lists no processes; its domain does. */
function readOrGone(path: string, code: 'CGROUP_UNAVAILABLE' | 'HOST_UNSUPPORTED'): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if (isGone(thrown) || errnoOf(thrown) === 'EOPNOTSUPP') return '';
    throw hostError(thrown, code, `Cannot read ${path}`);
  }
}
