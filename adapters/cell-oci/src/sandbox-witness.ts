import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FactOutcome, type HostNamespaces, inForce, missing, type NamespaceWatch } from '@glovebox/cell';
import type { BootedCell } from './boot.ts';
import { listProcesses } from './cell-cgroup.ts';

/** Those that a sandbox has besides what the launcher has made around it. */
const ownNamespaces = ['mnt', 'net', 'ipc', 'uts', 'user', 'pid'] as const;

/**
 * Look on the host at the processes of a cell whose kernel is in user space, until they are as they have to be or the cell
 * has ended. The kernel that author code could break out of is a process of the cell's own id, in namespaces of its own,
 * under a list of system calls, and can gain no privilege; and no process of the cell is a user of the host.
 *
 * @param watch begun before the cell was booted: what any process had then is not the cell's own.
 */
export async function witnessSandbox(
  cell: BootedCell,
  ended: Promise<unknown>,
  watch: NamespaceWatch,
): Promise<FactOutcome> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  for (let why = 'no process was seen'; ; await sleep(2)) {
    const seen = lookAt(cell, watch);
    if (seen === undefined)
      return inForce('its processes have an id, namespaces and a list of system calls of their own');
    if (over) return missing(`its processes were not seen to be confined: ${why}`, 'Do not run nodes in this class.');
    if (seen !== 'none') why = seen;
  }
}

/** @returns undefined when all is as it has to be; `none` when there is nothing to look at. */
function lookAt({ hierarchies, name, cellId }: BootedCell, watch: NamespaceWatch): string | undefined {
  try {
    const pids = listProcesses(hierarchies, name);
    if (pids.length === 0) return 'none';
    const { held } = watch.end();
    const processes = pids.map((pid) => readProcess(pid, held));
    const foreign = processes.find(({ uids }) => uids.some((uid) => uid !== cellId && uid !== cellId - 1));
    if (foreign !== undefined) return `one has the ids ${foreign.uids.join(', ')}`;
    const sandboxes = processes.filter(({ uids }) => uids.includes(cellId));
    if (sandboxes.length === 0) return 'none has the id of the cell';
    return sandboxes.flatMap(({ lacks }) => lacks)[0];
  } catch {
    // One has ended while we looked.
    return 'none';
  }
}

function readProcess(pid: number, held: HostNamespaces['held']): { uids: number[]; lacks: string[] } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1] ?? '';
  const shared = ownNamespaces.filter(
    (kind) => held[kind]?.includes(readlinkSync(`/proc/${pid}/ns/${kind}`)) !== false,
  );
  return {
    uids: field('Uid').split('\t').map(Number),
    lacks: [
      ...shared.map((kind) => `one shares the ${kind} namespace of a process of the host`),
      ...(field('Seccomp') === '2' ? [] : ['one has no list of system calls']),
      ...(field('NoNewPrivs') === '1' ? [] : ['one may gain privileges']),
      ...(field('Groups').trim() === '' ? [] : ['one has supplementary groups']),
    ],
  };
}
