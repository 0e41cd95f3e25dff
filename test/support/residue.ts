import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Whose things are counted. Without an instance: everything on this host, which other tests must then leave alone. */
export interface ResidueScope {
  instance?: string | readonly string[];
  /** Its `cells` directory is counted too, and launchers are told apart by it. Without it no directory is counted. */
  runDirectory?: string;
  claimsDirectory?: string;
}

/** What cells leave on a host while they live, and must not leave when they are dead. */
export interface Residue {
  processes: string[];
  cgroups: string[];
  mounts: string[];
  namespaces: string[];
  directories: string[];
  claims: string[];
}

const firstCellUid = 0x7000_0000;
const lastCellUid = firstCellUid + 0x7fff;

const attempt = <T>(action: () => T, otherwise: T): T => {
  try {
    return action();
  } catch {
    return otherwise;
  }
};

/** Sorted, so that two readings compare with `toEqual`. */
export function readResidue(scope: ResidueScope): Residue {
  const instances = typeof scope.instance === 'string' ? [scope.instance] : scope.instance;
  const matches = (text: string): boolean => instances?.some((instance) => text.includes(instance)) ?? true;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const ours = pids.filter((pid) => isOfCells(pid, scope, matches));
  const namespacesOf = (pid: string): string[] =>
    ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'].flatMap((kind) =>
      attempt(() => [readlinkSync(`/proc/${pid}/ns/${kind}`)], []),
    );
  const claimsDirectory = scope.claimsDirectory ?? '/run/glovebox-uids';
  return {
    processes: ours
      .map((pid) => `${pid} ${attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), '?')}`)
      .sort(),
    cgroups: listCellCgroups(matches, scope.instance === undefined),
    mounts: readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      // Other tests may mount at the same time; ours would show a root directory beside the run directory.
      .filter((line) => (scope.runDirectory === undefined ? matches(line) : line.includes(dirname(scope.runDirectory))))
      .flatMap((line) => line.split(' ')[4] ?? [])
      .sort(),
    namespaces: [...new Set((scope.instance === undefined ? pids : ours).flatMap(namespacesOf))].sort(),
    directories: listCellDirectories(scope.runDirectory),
    claims: attempt(() => readdirSync(claimsDirectory), [])
      .map((name) => `${name} ${attempt(() => readdirSync(join(claimsDirectory, name)).join(), '?')}`)
      .filter(matches)
      .sort(),
  };
}

export const listCellDirectories = (runDirectory: string | undefined): string[] =>
  runDirectory === undefined ? [] : attempt(() => readdirSync(join(runDirectory, 'cells')), []).sort();

/** What is there after and was not before, a line each. */
export function differences(before: Residue, after: Residue): string[] {
  return (Object.keys(after) as (keyof Residue)[]).flatMap((kind) => {
    const had = new Set(before[kind]);
    return after[kind].filter((thing) => !had.has(thing)).map((thing) => `${kind}: ${thing}`);
  });
}

/** A cell's own processes by cgroup or uid; the launcher beside it by its arguments, which name the cell's directory. */
function isOfCells(pid: string, scope: ResidueScope, matches: (text: string) => boolean): boolean {
  const cgroup = attempt(() => readFileSync(`/proc/${pid}/cgroup`, 'utf8'), '');
  if (cgroup.includes('/glovebox/') && matches(cgroup)) return true;
  const argv = attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '');
  const isHere = scope.runDirectory === undefined ? matches(argv) : argv.includes(join(scope.runDirectory, 'cells'));
  if (argv.includes('glovebox-cell\0') && isHere) return true;
  if (scope.instance !== undefined) return false;
  const uid = Number(/^Uid:\s+(\d+)/m.exec(attempt(() => readFileSync(`/proc/${pid}/status`, 'utf8'), ''))?.[1]);
  return uid >= firstCellUid && uid <= lastCellUid;
}

const foldersBelow = (folder: string): string[] =>
  attempt(() => readdirSync(folder, { withFileTypes: true, recursive: true }), [])
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));

function listCellCgroups(matches: (text: string) => boolean, withFolder: boolean): string[] {
  const mountPoints = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .flatMap((line) => line.split(' ')[4] ?? []);
  return mountPoints
    .flatMap((mountPoint) => {
      const folder = join(mountPoint, 'glovebox');
      const entries = attempt(() => readdirSync(folder, { withFileTypes: true }), undefined);
      if (entries === undefined) return [];
      const cells = entries
        .filter((entry) => entry.isDirectory() && matches(entry.name))
        .map((entry) => join(folder, entry.name))
        .flatMap((cell) => [cell, ...foldersBelow(cell)]);
      return withFolder ? [folder, ...cells] : cells;
    })
    .sort();
}
