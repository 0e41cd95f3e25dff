import { execFileSync } from 'node:child_process';
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Make a cgroup impossible to remove, for whoever tries: the kernel refuses while something is mounted below it.
 *
 * @returns undoes it.
 */
export function holdCgroup(path: string): () => void {
  const stuck = join(path, 'stuck');
  mkdirSync(stuck);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'glovebox-test', stuck]);
  return () => {
    execFileSync('umount', [stuck]);
    rmdirSync(stuck);
  };
}
