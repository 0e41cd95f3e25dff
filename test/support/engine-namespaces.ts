import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Namespaces in which a container engine of a test's own changes nothing of the host: neither its network nor its mounts,
 * `/run`, `/etc` and `/dev/shm`. Its processes are in a pid namespace, so that none of them can outlive `end`, nor this
 * process, whatever kills it.
 */
export interface EngineNamespaces {
  /** Start a program inside. `exit` of what is returned comes when the program ends. */
  spawn(command: string[], output: 'ignore' | number): ChildProcess;
  /** Host pids of everything inside, the first process left out. */
  pids(): number[];
  /** Kill everything inside and wait until it is gone. */
  end(): Promise<void>;
}

/**
 * The first process only reaps. crun refuses a host that has both versions of cgroups mounted, so the second is taken out
 * of sight beside the first.
 */
const setUp = `
ip link set lo up
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs -o mode=1777 none /dev/shm
mkdir /run/etc /run/etc-work
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc-work none /etc
rm -rf /etc/docker /etc/subuid /etc/subgid
if [ -d /sys/fs/cgroup/unified ] && mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
`;

/** @param more what else to set up, as lines of sh; nothing of a test's input goes there. */
export async function openEngineNamespaces(more = ''): Promise<EngineNamespaces> {
  const holder = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'unshare', '--net', '--mount', '--propagation', 'private'],
      ...['--pid', '--fork', '--kill-child=KILL', '--mount-proc'],
      ...['sh', '-ec', `${setUp}${more}\necho ready\nset +e\nsleep infinity &\nwait`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  holder.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2000);
  });
  const ready = await Promise.race([
    once(holder.stdout, 'data').then(() => true),
    once(holder, 'exit').then(() => false),
  ]);
  const first = childrenOf(holder.pid as number)[0];
  if (!ready || first === undefined) throw new Error(`there are no namespaces for an engine: ${said}`);
  const gone = once(holder, 'exit');
  return {
    spawn: (command, output) =>
      spawn('nsenter', ['--target', String(first), '--mount', '--net', '--pid', '--', ...command], {
        stdio: ['ignore', output, output],
        env: { PATH: process.env.PATH ?? '', HOME: '/root' },
      }),
    pids: () => withinNamespaceOf(first),
    async end() {
      try {
        process.kill(first, 'SIGKILL');
      } catch {
        // It is gone already.
      }
      await gone;
    },
  };
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Those of the first process's pid namespace, and theirs below: containers have pid namespaces of their own. */
function withinNamespaceOf(first: number): number[] {
  const parents = new Map<number, number>();
  const members = new Set<number>();
  const namespace = readlinkSync(`/proc/${first}/ns/pid`);
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      if (readlinkSync(`/proc/${name}/ns/pid`) === namespace) members.add(Number(name));
      parents.set(Number(name), Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]));
    } catch {
      // It ended meanwhile.
    }
  }
  const isInside = (pid: number | undefined): boolean =>
    pid !== undefined && (members.has(pid) || isInside(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== first && isInside(pid));
}

/** Every cgroup directory on this host whose path below its hierarchy passes the test, the deepest first. */
function cgroupsLike(matches: (path: string) => boolean): string[] {
  const hierarchies = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .flatMap((line) => line.split(' ')[4] ?? []);
  const found: string[] = [];
  const walk = (hierarchy: string, path: string): void => {
    for (const entry of directoriesIn(join(hierarchy, path))) walk(hierarchy, join(path, entry));
    if (path !== '' && matches(`/${path}`)) found.push(join(hierarchy, path));
  };
  for (const hierarchy of hierarchies) walk(hierarchy, '');
  return found;
}

function directoriesIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

/**
 * Remove cgroups whose processes are dead. The kernel may hold one for a moment longer than its last process.
 *
 * @returns those that cannot be removed.
 */
export async function removeCgroupsLike(matches: (path: string) => boolean, timeoutMs = 5_000): Promise<string[]> {
  for (const end = Date.now() + timeoutMs; ; await sleep(20)) {
    const left = cgroupsLike(matches).filter((path) => !isRemoved(path));
    if (left.length === 0 || Date.now() > end) return left;
  }
}

function isRemoved(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
