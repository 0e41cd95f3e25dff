import { testLimits } from '@glovebox/contract/build-limits';

const { readdirSync, readFileSync } = process.getBuiltinModule('node:fs');
const { hash } = process.getBuiltinModule('node:crypto');

export interface TreeFile {
  /** Relative to the tree. */
  path: string;
  /** Null where it cannot be read. */
  sha256: string | null;
}

/**
 * Every file of a tree but those of packages, with its digest. Runs beside author code: no prototype is asked for anything.
 * Stops at `testLimits.files`.
 */
export function readTree(root: string): TreeFile[] {
  const files: TreeFile[] = [];
  const waiting: string[] = [''];
  for (let next = 0; next < waiting.length; next++) {
    const directory = waiting[next] as string;
    const names = namesIn(`${root}/${directory}`);
    for (let i = 0; names !== undefined && i < names.length; i++) {
      const path = directory === '' ? (names[i] as string) : `${directory}/${names[i]}`;
      if (path === 'node_modules') continue;
      if (files.length + waiting.length >= testLimits.files) return files;
      if (namesIn(`${root}/${path}`) !== undefined) waiting[waiting.length] = path;
      else files[files.length] = { path, sha256: digestOf(`${root}/${path}`) };
    }
  }
  return files;
}

/** Undefined for what is no directory, or none that can be read. */
function namesIn(path: string): string[] | undefined {
  try {
    return readdirSync(path);
  } catch {
    return undefined;
  }
}

function digestOf(path: string): string | null {
  try {
    return hash('sha256', readFileSync(path), 'hex');
  } catch {
    return null;
  }
}
