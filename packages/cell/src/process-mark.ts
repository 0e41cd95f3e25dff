import { readFileSync, readlinkSync } from 'node:fs';

/** One process of this host, so that another process can tell later, without doubt, whether it still lives. Linux only. */
export interface ProcessMark {
  /** Of the kernel that it runs under, from /proc/sys/kernel/random/boot_id. */
  bootId: string;
  /** Inode of the pid namespace in which `pid` counts. */
  pidNamespace: string;
  pid: number;
  /** Field 22 of /proc/pid/stat: clock ticks since boot. */
  startTicks: string;
}

/** What an observation of a process allows to conclude. `unknown` is never treated as dead. */
export type ProcessVerdict = 'alive' | 'dead' | 'unknown';

const bootIdPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const currentBootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** `pid:[4026531836]` → `4026531836`. */
const currentPidNamespace = (): string => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');

/** This very process. */
export function markOwnProcess(): ProcessMark {
  const { startTicks } = parseStat(readFileSync(`/proc/${process.pid}/stat`, 'latin1'));
  return { bootId: currentBootId(), pidNamespace: currentPidNamespace(), pid: process.pid, startTicks };
}

/**
 * Judge by positive observation only. A pid counts in its own pid namespace (a claim from another one cannot be judged
 * here), a pid that was given to another process has another start time, a zombie is dead though its pid is in use, and
 * what cannot be read is unknown.
 *
 * A mark of another boot is dead because marks never leave the host that made them: a data directory that two machines
 * share would let each take the other for itself before a reboot.
 */
export function judgeProcess(mark: ProcessMark): ProcessVerdict {
  // What is no boot id is not that of another boot.
  if (!bootIdPattern.test(mark.bootId)) return 'unknown';
  try {
    // Of another boot of this kernel: nothing of it can live.
    if (mark.bootId !== currentBootId()) return 'dead';
    if (mark.pidNamespace !== currentPidNamespace()) return 'unknown';
  } catch {
    return 'unknown';
  }
  let text: string;
  try {
    text = readFileSync(`/proc/${mark.pid}/stat`, 'latin1');
  } catch {
    // /proc may hide processes of others (hidepid), so a missing entry alone proves nothing.
    return hasNoProcess(mark.pid) ? 'dead' : 'unknown';
  }
  const stat = parseStat(text);
  // Start times are told in the time namespace of whoever reads: a process of another one may be the marked one all the same.
  if (stat.startTicks !== mark.startTicks) return isInOurTime(mark.pid) ? 'dead' : 'unknown';
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
