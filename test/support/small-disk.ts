import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A small file system over a directory, in a mount namespace of its own: nobody else on this host sees it. */
export interface SmallDisk {
  /** What to start a process through so that it sees it. */
  through: string[];
  /** The directory as seen from here. */
  path: string;
  freeBytes(): number;
  /** Take up everything but so many bytes. */
  fill(leaveBytes: number): void;
  /** Give back what was taken up. */
  free(): void;
  resize(size: string): Promise<void>;
  remove(): Promise<void>;
}

const ballast = '.ballast';

/** @param size as tmpfs takes it, such as `40m`. @param dir must be there; it stays as it is. */
export async function openSmallDisk(dir: string, size: string): Promise<SmallDisk> {
  const holder = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'private', 'sh', '-ec'],
      `mount -t tmpfs -o "size=$1,mode=0700" none "$2"; echo ready; exec sleep infinity`,
      ...['sh', size, dir],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(holder.stdout, 'data');
  const pid = holder.pid as number;
  const path = `/proc/${pid}/root${dir}`;
  const through = ['nsenter', `--mount=/proc/${pid}/ns/mnt`, `--wd=${join(dir, '..')}`];
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    through,
    path,
    freeBytes,
    fill(leaveBytes) {
      rmSync(join(path, ballast), { force: true });
      writeFileSync(join(path, ballast), Buffer.alloc(Math.max(0, freeBytes() - leaveBytes)));
    },
    free: () => rmSync(join(path, ballast), { force: true }),
    async resize(to) {
      const [program = '', ...args] = [...through, 'mount', '-o', `remount,size=${to}`, dir];
      const [code] = await once(spawn(program, args, { stdio: 'ignore' }), 'exit');
      if (code !== 0) throw new Error(`the disk cannot be resized to ${to}`);
    },
    async remove() {
      for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true });
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    },
  };
}
