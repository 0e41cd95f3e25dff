import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Things for a weakened cell to have in common with a process that is neither the host's nor the cell's, so that nothing of
 * the host is at stake.
 */
export interface ForeignThings {
  /** Namespaces that processes of ours hold, as paths that a runtime can join. The user namespace maps ids as a cell's does. */
  namespaces: Readonly<Record<'cgroup' | 'ipc' | 'network' | 'user' | 'uts', string>>;
  /** A copy of a root directory that can be mounted read-write, where any uid can reach it. */
  root: string;
  /** With one readable file in it. */
  directory: string;
  remove(): Promise<void>;
}

/** In a cell's file tree this directory, its file system and its mounts must be ones that a user namespace may bind. */
export async function makeForeignThings(rootfs: string): Promise<ForeignThings> {
  const home = mkdtempSync(join(tmpdir(), 'foreign-things-'));
  chmodSync(home, 0o711);
  const root = join(home, 'root');
  copyTree(rootfs, root);
  const directory = join(home, 'directory');
  mkdirSync(directory);
  writeFileSync(join(directory, 'file'), 'of the test\n');

  // A launcher has a pid namespace of its own, in whose /proc our processes are not to be seen.
  const proc = join(home, 'proc');
  mkdirSync(proc);
  execFileSync('mount', ['--bind', '/proc', proc]);
  const holder = await hold(['--uts', '--ipc', '--net', '--cgroup'], 'hostname cell && ip link set lo up');
  const userHolder = await hold(['--user'], ':');
  for (const map of ['uid_map', 'gid_map'])
    writeFileSync(`/proc/${userHolder.pid}/${map}`, '0 1900000000 1\n65532 1900000001 1\n');

  const of = ({ pid }: ChildProcess, kind: string): string => `${proc}/${pid}/ns/${kind}`;
  return {
    namespaces: {
      cgroup: of(holder, 'cgroup'),
      ipc: of(holder, 'ipc'),
      network: of(holder, 'net'),
      user: of(userHolder, 'user'),
      uts: of(holder, 'uts'),
    },
    root,
    directory,
    async remove() {
      for (const child of [holder, userHolder]) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      execFileSync('umount', [proc]);
      rmSync(home, { recursive: true });
    },
  };
}

/** A process in namespaces of its own that does nothing until it is killed. */
async function hold(flags: readonly string[], prepare: string): Promise<ChildProcess> {
  const script = `${prepare} && echo ready && exec sleep infinity`;
  const child = spawn('unshare', [...flags, 'sh', '-c', script], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`unshare ended with ${code}`))),
  ]);
  return child;
}

/** Owned by root, as an image's is. */
function copyTree(from: string, to: string): void {
  mkdirSync(to);
  chmodSync(to, 0o755);
  for (const name of readdirSync(from)) cpSync(join(from, name), join(to, name), { recursive: true });
}
