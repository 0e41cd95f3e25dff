/**
 * Flags for a Node.js process that kills itself with SIGKILL just before its nth change of the file system, whichever
 * function of `node:fs` makes it: what a power cut or the kernel's killer leaves. Changes are counted from 1, before they
 * are made; a process that makes fewer ends as it would have.
 *
 * Counts opening for writing, writing, truncating, syncing, linking, renaming, removing, changing modes and making
 * directories. What native code writes by itself, as SQLite does, is not seen.
 */
export function killAtNthWrite(n: number): string[] {
  const preload = new URL('./kill-at-nth-write.preload.ts', import.meta.url);
  return ['--import', `${preload.href}?n=${n}`];
}
