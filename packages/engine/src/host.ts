import { readFileSync } from 'node:fs';
import type { OwnerRef } from './records.ts';

/** Who this process is, so that another one can tell later whether it still lives. Linux only. */
export function ownIdentity(instance: string): OwnerRef {
  const startTicks = processStartTicks(process.pid);
  if (startTicks === undefined) throw new Error('/proc does not show this process');
  return {
    instance,
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pid: process.pid,
    startTicks,
  };
}

/** Field 22 of /proc/pid/stat; undefined when there is no such process. */
export function processStartTicks(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
  // The command name is in parentheses and may hold anything, so count from the last one.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/**
 * Whether an owner is dead, by positive observation only: another boot, no such process, or another process under its
 * number. Anything that cannot be read counts as alive.
 */
export function isDead(owner: OwnerRef): boolean {
  try {
    if (readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() !== owner.bootId) return true;
    const ticks = processStartTicks(owner.pid);
    return ticks === undefined || ticks !== owner.startTicks;
  } catch {
    return false;
  }
}
