import { readFileSync, writeFileSync } from 'node:fs';

/**
 * How much more memory this process held at its highest while `work` went on than just before, in MB. The highest is kept by
 * the kernel (`VmHWM`, reset by `clear_refs`), so nothing between two looks is missed.
 */
export async function residentGrowth(work: () => Promise<unknown>): Promise<number> {
  writeFileSync('/proc/self/clear_refs', '5');
  const before = kilobytes('VmRSS');
  await work();
  return (Math.max(0, kilobytes('VmHWM') - before) * 1024) / 1e6;
}

function kilobytes(name: string): number {
  const value = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  if (value === undefined) throw new Error(`there is no ${name} in /proc/self/status`);
  return Number(value);
}
