import { readdirSync, readFileSync } from 'node:fs';

export interface TreeProcess {
  pid: number;
  /** Name of the program that it runs now. */
  name: string;
}

/** What a process that is there no more is read as. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Children of a process, whichever of its threads has made them. */
export const childrenOf = (pid: number): number[] =>
  threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

export const argumentsOf = (pid: number): string => read(`/proc/${pid}/cmdline`);

/** A process and what descends from it, parents before children. */
export function treeOf(pid: number): TreeProcess[] {
  const name = read(`/proc/${pid}/comm`).trim();
  return name === '' ? [] : [{ pid, name }, ...childrenOf(pid).flatMap(treeOf)];
}

/** @returns whether there was one. */
export function killIfThere(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
