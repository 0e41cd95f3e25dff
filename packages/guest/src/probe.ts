import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { isatty } from 'node:tty';

/**
 * The program of a probe cell: tells everything that the cell can see of itself, then becomes the system-call probe, so
 * that one boot reads all. On fd 1: the length of a JSON document in bytes, a newline, the document (`glovebox.probe/1`,
 * in contract/src/probe.ts), a newline; the rest is what the system-call probe writes.
 *
 * It judges nothing. It imports nothing but Node.js, since it is what tells whether the rest can be trusted.
 */
const sysprobePath = '/glovebox/sysprobe';
const scratchPath = '/tmp';
const maxWalkedEntries = 50_000;

/** The result, or the error's code as text: a probe reports refusals, it does not stop at them. */
function attempt<T>(action: () => T): { value: T } | { error: string } {
  try {
    return { value: action() };
  } catch (thrown) {
    return { error: (thrown as NodeJS.ErrnoException).code ?? String(thrown) };
  }
}

const read = (path: string): string | null => {
  const outcome = attempt(() => readFileSync(path, 'utf8'));
  return 'value' in outcome ? outcome.value : null;
};

const lines = (path: string): string[] | null =>
  read(path)
    ?.split('\n')
    .filter((line) => line !== '') ?? null;

/** As `lines`, but of a file that the kernel has only where it knows IPv6. */
const lines6 = (path: string): string[] | null => {
  const outcome = attempt(() => lstatSync(path));
  return 'error' in outcome && outcome.error === 'ENOENT' ? [] : lines(path);
};

const list = (path: string): string[] | null => {
  const outcome = attempt(() => readdirSync(path));
  return 'value' in outcome ? outcome.value.sort() : null;
};

const link = (path: string): string | null => {
  const outcome = attempt(() => readlinkSync(path));
  return 'value' in outcome ? outcome.value : null;
};

function statusFields(): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines('/proc/self/status') ?? []) {
    const colon = line.indexOf(':');
    fields[line.slice(0, colon)] = line
      .slice(colon + 1)
      .trim()
      .replaceAll('\t', ' ');
  }
  return fields;
}

/** Session and controlling terminal: fields 6 and 7 of stat, counted after the name, which may hold anything. */
function session(): { session: number; terminal: number } {
  const stat = read('/proc/self/stat') ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { session: Number(fields[3]), terminal: Number(fields[4]) };
}

function descriptors(): { fd: number; target: string; terminal: boolean }[] {
  const found = [];
  for (const name of list('/proc/self/fd') ?? []) {
    const fd = Number(name);
    // The directory was listed through a descriptor that is closed by now.
    if ('error' in attempt(() => fstatSync(fd))) continue;
    found.push({ fd, target: link(`/proc/self/fd/${name}`) ?? '?', terminal: isatty(fd) });
  }
  return found.sort((a, b) => a.fd - b.fd);
}

/** Everything in the mount tree that is neither file, directory nor link, or that carries a setuid or setgid bit. */
function walk() {
  const found = {
    sockets: [] as string[],
    devices: [] as string[],
    pipes: [] as string[],
    privileged: [] as string[],
    entries: 0,
    complete: true,
  };
  const pending = ['/'];
  for (let dir = pending.pop(); dir !== undefined; dir = pending.pop()) {
    const names = list(dir);
    if (names === null) found.complete = false;
    for (const name of names ?? []) {
      const path = join(dir, name);
      if (path === '/proc') continue;
      if (found.entries === maxWalkedEntries) return { ...found, complete: false };
      found.entries++;
      const outcome = attempt(() => lstatSync(path));
      if ('error' in outcome) {
        found.complete = false;
        continue;
      }
      const stat = outcome.value;
      if (stat.isDirectory()) pending.push(path);
      else if (stat.isSocket()) found.sockets.push(path);
      else if (stat.isFIFO()) found.pipes.push(path);
      else if (stat.isCharacterDevice() || stat.isBlockDevice()) {
        found.devices.push(`${path} ${stat.isBlockDevice() ? 'b' : 'c'} ${major(stat.rdev)}:${minor(stat.rdev)}`);
      }
      if (!stat.isSymbolicLink() && (stat.mode & 0o6000) !== 0) found.privileged.push(path);
    }
  }
  return found;
}

/** What a path leads to, as short as a judge can use it. */
function kindOf(path: string): string {
  const outcome = attempt(() => lstatSync(path));
  if ('error' in outcome) return outcome.error;
  const stat = outcome.value;
  if (stat.isCharacterDevice()) return `c ${major(stat.rdev)}:${minor(stat.rdev)}`;
  if (!stat.isDirectory()) return 'other';
  const names = attempt(() => readdirSync(path));
  if ('error' in names) return names.error;
  return names.value.length === 0 ? 'empty directory' : 'directory';
}

/** By mount point, which mountinfo writes with three octal digits for what would break its lines. */
function mounted(): Record<string, string> {
  const points = (lines('/proc/self/mountinfo') ?? []).map((line) => line.split(' ')[4] ?? '');
  const pathOf = (point: string): string =>
    point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Object.fromEntries(points.map((point) => [point, kindOf(pathOf(point))]));
}

const major = (rdev: number): number => (rdev >>> 8) & 0xfff;
const minor = (rdev: number): number => (rdev & 0xff) | ((rdev >>> 12) & 0xfff00);

/** What happens on opening; nothing is written, so that a hole that is found is not used. */
const opening = (path: string, flags: number): string => {
  const outcome = attempt(() => closeSync(openSync(path, flags)));
  return 'error' in outcome ? outcome.error : 'ok';
};

const creating = (path: string): string => {
  const outcome = attempt(() => writeFileSync(path, 'probe', { flag: 'wx' }));
  if ('error' in outcome) return outcome.error;
  attempt(() => unlinkSync(path));
  return 'ok';
};

function attempts(): Record<string, string> {
  const { O_RDONLY, O_WRONLY } = constants;
  const outcomes: Record<string, string> = {};
  for (const path of [
    '/probe',
    '/usr/bin/probe',
    '/etc/probe',
    '/glovebox/probe',
    '/dev/probe',
    '/proc/probe',
    '/sys/probe',
    '/tmp/probe',
  ]) {
    outcomes[`create ${path}`] = creating(path);
  }
  for (const path of [
    '/usr/bin/node',
    '/glovebox/harness.cjs',
    '/etc/passwd',
    '/proc/self/exe',
    '/proc/sys/kernel/core_pattern',
    '/proc/sys/kernel/domainname',
    '/proc/sys/vm/overcommit_memory',
    '/proc/sysrq-trigger',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes',
    '/sys/fs/cgroup/cgroup.procs',
    '/sys/kernel/uevent_helper',
    '/dev/null',
    '/dev/tty',
    '/dev/mem',
    '/dev/kmsg',
    '/dev/ptmx',
  ]) {
    outcomes[`write ${path}`] = opening(path, O_WRONLY);
  }
  for (const path of [
    '/proc/kcore',
    '/proc/keys',
    '/proc/kallsyms',
    '/proc/kmsg',
    '/proc/modules',
    '/proc/cmdline',
    '/proc/timer_list',
    '/proc/sched_debug',
    '/proc/meminfo',
    '/proc/cpuinfo',
    '/proc/interrupts',
    '/proc/config.gz',
    '/proc/sys/kernel/random/boot_id',
    '/proc/1/root/etc/shadow',
    '/sys/class/net',
    '/dev/shm',
    '/dev/urandom',
    '/etc/shadow',
    '/var/run/docker.sock',
    '/run/containerd/containerd.sock',
  ]) {
    outcomes[`read ${path}`] = opening(path, O_RDONLY);
  }
  // The file of a process is its own to open; what counts is that the kernel refuses the value.
  const writing = (path: string, text: string): string => {
    const outcome = attempt(() => writeFileSync(path, text, { flag: 'r+' }));
    return 'error' in outcome ? outcome.error : 'ok';
  };
  outcomes['lower oom_score_adj'] = writing('/proc/self/oom_score_adj', '-1000');
  outcomes['rewrite uid_map'] = writing('/proc/self/uid_map', '0 0 1');
  outcomes['rewrite gid_map'] = writing('/proc/self/gid_map', '0 0 1');
  return outcomes;
}

const scratch = attempt(() => statfsSync(scratchPath));

const document = {
  schema: 'glovebox.probe/1',
  node: process.version,
  arch: process.arch,
  argv: process.argv,
  execArgv: process.execArgv,
  cwd: process.cwd(),
  pid: process.pid,
  ppid: process.ppid,
  ...session(),
  ids: { uid: process.getuid?.(), euid: process.geteuid?.(), gid: process.getgid?.(), egid: process.getegid?.() },
  umask: process.umask(),
  status: statusFields(),
  uidMap: lines('/proc/self/uid_map'),
  gidMap: lines('/proc/self/gid_map'),
  oomScoreAdj: Number(read('/proc/self/oom_score_adj') ?? Number.NaN),
  limits: lines('/proc/self/limits'),
  cgroup: lines('/proc/self/cgroup'),
  namespaces: Object.fromEntries((list('/proc/self/ns') ?? []).map((name) => [name, link(`/proc/self/ns/${name}`)])),
  mounts: lines('/proc/self/mountinfo'),
  mounted: mounted(),
  network: {
    devices: lines('/proc/self/net/dev'),
    routes: lines('/proc/self/net/route'),
    routes6: lines6('/proc/self/net/ipv6_route'),
    addresses6: lines6('/proc/self/net/if_inet6'),
    tcp: lines('/proc/self/net/tcp'),
    udp: lines('/proc/self/net/udp'),
    unix: lines('/proc/self/net/unix'),
  },
  environment: { ...process.env },
  descriptors: descriptors(),
  tree: walk(),
  root: list('/'),
  dev: (list('/dev') ?? []).map((name) => {
    const target = link(`/dev/${name}`);
    return target === null ? name : `${name} -> ${target}`;
  }),
  proc: (list('/proc') ?? []).filter((name) => !/^\d+$/.test(name)),
  processes: (list('/proc') ?? []).filter((name) => /^\d+$/.test(name)).map(Number),
  sys: list('/sys'),
  hostname: hostname(),
  domainname: read('/proc/sys/kernel/domainname')?.trim() ?? null,
  scratch:
    'value' in scratch
      ? {
          bytes: scratch.value.blocks * scratch.value.bsize,
          inodes: scratch.value.files,
          freeInodes: scratch.value.ffree,
        }
      : null,
  attempts: attempts(),
};

/** All of it, even where the descriptor is a socket that does not block. */
function writeAll(fd: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) {
    const outcome = attempt(() => writeSync(fd, bytes, offset));
    if ('value' in outcome) offset += outcome.value;
    else if (outcome.error !== 'EAGAIN') throw new Error(`cannot write the probe's document: ${outcome.error}`);
  }
}

const json = Buffer.from(JSON.stringify(document));
writeAll(1, Buffer.concat([Buffer.from(`${json.length}\n`), json, Buffer.from('\n')]));
process.execve?.(sysprobePath, [sysprobePath], {});
