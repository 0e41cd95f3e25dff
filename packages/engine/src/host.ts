import { judgeProcess, markOwnProcess } from '@glovebox/cell/process-mark';
import type { OwnerRef } from './records.ts';

/** Who this process is, so that another one can tell later whether it still lives. Linux only. */
export function ownIdentity(instance: string): OwnerRef {
  const { bootId, pidNamespace, pid, startTicks } = markOwnProcess();
  return { instance, pidSpace: `${bootId}/${pidNamespace}`, pid, startTicks };
}

/**
 * Whether an owner is dead, by positive observation only: another boot, no such process, another process under its
 * number, or one that has ended and whose parent has not looked yet (in a container, often nobody ever does). What cannot
 * be told counts as alive: an owner in another pid namespace, such as that of another container with the same data
 * directory, or one that does not say in which its pid counts.
 */
export function isDead({ pidSpace, pid, startTicks }: OwnerRef): boolean {
  const [bootId = '', pidNamespace = ''] = pidSpace.split('/');
  return judgeProcess({ bootId, pidNamespace, pid, startTicks }) === 'dead';
}
