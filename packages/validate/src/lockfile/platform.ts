/** What runs in a cell, in the words of package.json's `os`, `cpu` and `libc`. */
export interface Platform {
  os: string;
  cpu: string;
  libc: string;
}

/** Cells are Linux with glibc on the host's processor. */
export const cellPlatform: Readonly<Platform> = { os: 'linux', cpu: process.arch, libc: 'glibc' };

export interface Restriction {
  os: string[];
  cpu: string[];
  libc: string[];
}

/** As npm judges it: `!x` excludes, any other word includes, none or `any` lets all pass. */
export function runsOn(restriction: Restriction, platform: Platform): boolean {
  return (['os', 'cpu', 'libc'] as const).every((kind) => admits(restriction[kind], platform[kind]));
}

/** Tied to one processor or C library: only machine code has a reason to be. */
export function isNative(restriction: Restriction): boolean {
  return [...restriction.cpu, ...restriction.libc].some((word) => word !== 'any' && !word.startsWith('!'));
}

function admits(words: readonly string[], own: string): boolean {
  if (words.includes(`!${own}`)) return false;
  const included = words.filter((word) => !word.startsWith('!'));
  return included.length === 0 || included.includes('any') || included.includes(own);
}
