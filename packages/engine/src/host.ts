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
  return readStat(pid)?.startTicks;
}

interface ProcessStat {
  state: string;
  threads: number;
  startTicks: string;
}

function readStat(pid: number): ProcessStat | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
  // The command name is in parentheses and may hold anything, so count from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '?', threads: Number(fields[17]), startTicks: fields[19] ?? '' };
}

/**
 * Whether an owner is dead, by positive observation only: another boot, no such process, another process under its
 * number, or one that has ended and whose parent has not looked yet (in a container, often nobody ever does). Anything that
 * cannot be read counts as alive.
 */
export function isDead(owner: OwnerRef): boolean {
  try {
    if (readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() !== owner.bootId) return true;
    const stat = readStat(owner.pid);
    if (stat === undefined || stat.startTicks !== owner.startTicks) return true;
    // A first thread that has ended looks the same while other threads of the process still run.
    return (stat.state === 'Z' || stat.state === 'X') && stat.threads <= 1;
  } catch {
    return false;
  }
}
