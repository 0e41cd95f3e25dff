import { readFileSync, readlinkSync } from 'node:fs';
import type { OwnerIdentity } from '@glovebox/cell';
import { type CellId, type InstanceId, idPatterns } from '@glovebox/contract';

/**
 * Who made a thing on the host, told by its name alone. Bundle directories, cgroups and uid claims all carry this name, so
 * that none of them can exist for a moment without its owner: mkdir and symlink make name and thing in one step.
 */
export interface OwnedName {
  cell: CellId;
  owner: OwnerIdentity;
  /** Inode of the pid namespace in which the owner's pid counts. */
  pidNamespace: string;
}

/** What an observation of the owner allows to conclude. `unknown` is never treated as dead. */
export type OwnerVerdict = 'alive' | 'dead' | 'unknown';

export interface OwnerMark {
  owner: OwnerIdentity;
  pidNamespace: string;
}

const ownedNamePattern =
  /^(cell_[0-9a-z]{22})\.(ins_[0-9a-z]{22})\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([1-9]\d{0,9})\.(\d{1,20})\.(\d{1,20})$/;

export function formatOwnedName(cell: CellId, mark: OwnerMark): string {
  const { instance, bootId, pid, startTicks } = mark.owner;
  return [cell, instance, bootId, pid, startTicks, mark.pidNamespace].join('.');
}

/** @param unsafeName a file name or link target found on the host. @returns undefined when it is none of ours. */
export function parseOwnedName(unsafeName: string): OwnedName | undefined {
  const match = ownedNamePattern.exec(unsafeName);
  if (match === null) return undefined;
  const [, cell = '', instance = '', bootId = '', pid = '', startTicks = '', pidNamespace = ''] = match;
  if (!idPatterns.cell.test(cell) || !idPatterns.instance.test(instance)) return undefined;
  return {
    cell: cell as CellId,
    owner: { instance: instance as InstanceId, bootId, pid: Number(pid), startTicks },
    pidNamespace,
  };
}

export const currentBootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** `pid:[4026531836]` → `4026531836`. */
export const currentPidNamespace = (): string => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');

/** This process as an owner. */
export function readOwnMark(instance: InstanceId): OwnerMark {
  const stat = parseStat(readFileSync(`/proc/${process.pid}/stat`, 'latin1'));
  return {
    owner: { instance, bootId: currentBootId(), pid: process.pid, startTicks: stat.startTicks },
    pidNamespace: currentPidNamespace(),
  };
}

/**
 * Judge by positive observation only. A pid counts in its own pid namespace (a claim from another one cannot be judged
 * here), a pid that was given to another process has another start time, a zombie is dead though its pid is in use, and
 * what cannot be read is unknown.
 */
export function judgeOwner(mark: OwnerMark): OwnerVerdict {
  // Of another boot of this kernel: nothing of it can live.
  if (mark.owner.bootId !== currentBootId()) return 'dead';
  if (mark.pidNamespace !== currentPidNamespace()) return 'unknown';
  let text: string;
  try {
    text = readFileSync(`/proc/${mark.owner.pid}/stat`, 'latin1');
  } catch {
    // /proc may hide processes of others (hidepid), so a missing entry alone proves nothing.
    return hasNoProcess(mark.owner.pid) ? 'dead' : 'unknown';
  }
  const stat = parseStat(text);
  // Start times are told in the time namespace of whoever reads: a process of another one may be the owner all the same.
  if (stat.startTicks !== mark.owner.startTicks) return isInOurTime(mark.owner.pid) ? 'dead' : 'unknown';
  // A leader that has exited is a zombie while other threads of it still run.
  if ((stat.state === 'Z' || stat.state === 'X') && stat.threads <= 1) return 'dead';
  return 'alive';
}

function isInOurTime(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/time`) === readlinkSync('/proc/self/ns/time');
  } catch (thrown) {
    // Before Linux 5.6 there is one time for all. An entry that is gone has no start time either.
    return (thrown as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** EPERM means that there is one. */
function hasNoProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Fields are counted after the name, which may hold blanks and parentheses. */
function parseStat(text: string): { state: string; threads: number; startTicks: string } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '?', threads: Number(fields[17]), startTicks: fields[19] ?? '' };
}
