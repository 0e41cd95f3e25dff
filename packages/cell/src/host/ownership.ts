import { type CellId, type InstanceId, idPatterns } from '@glovebox/contract';
import type { OwnerIdentity } from '../driver.ts';
import { judgeProcess, markOwnProcess, type ProcessVerdict } from '../process-mark.ts';

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

/** This process as an owner. */
export function readOwnMark(instance: InstanceId): OwnerMark {
  const { bootId, pidNamespace, pid, startTicks } = markOwnProcess();
  return { owner: { instance, bootId, pid, startTicks }, pidNamespace };
}

/** Whether it is this very owner's, and not another process's of the same instance. */
export const isMadeBy = (mark: OwnerMark, name: OwnerMark): boolean =>
  name.owner.pid === mark.owner.pid &&
  name.owner.startTicks === mark.owner.startTicks &&
  name.owner.bootId === mark.owner.bootId &&
  name.owner.instance === mark.owner.instance &&
  name.pidNamespace === mark.pidNamespace;

/** Judge by positive observation only. `unknown` is never treated as dead. */
export const judgeOwner = ({ owner, pidNamespace }: OwnerMark): ProcessVerdict =>
  judgeProcess({ ...owner, pidNamespace });
