/** Programs that stand between us and a cell, and whose holes are the cell's ways out. */
export type ProgramKind = 'crun' | 'runc' | 'runsc' | 'docker' | 'containerd' | 'podman';

export interface ProgramVersion {
  kind: ProgramKind;
  /** As the program says it. */
  version: string;
  /** Of the distribution's package that the very file belongs to, where that can be told. */
  packageVersion?: string;
}

export interface KnownHole {
  id: string;
  kind: ProgramKind;
  /** What goes wrong, in a few words. */
  what: string;
  /** First upstream version without it, for each branch that is mended; the last is that of all later branches. */
  fixedIn: readonly string[];
  /** Packages into which a distribution put the remedy without raising the version. */
  fixedPackages?: readonly FixedPackage[];
  /** The property of every cell that takes the way in away. Where there is none, a program with the hole is refused. */
  removedBy?: { property: string; how: string };
}

export interface FixedPackage {
  /** What tells the distribution's release in a package version, such as `deb12u`. */
  mark: string;
  version: string;
}

/**
 * From the projects' and distributions' own advisories. A hole that our plan removes is listed so that doctor can say so.
 *
 * CVE-2024-21626 is demanded although working directory and command are fixed: what leaks is a directory of the host, and
 * nothing but those two settings would stand between it and a cell. No hole of runsc is known that a cell could reach.
 */
export const knownHoles: readonly KnownHole[] = [
  {
    id: 'CVE-2024-21626',
    kind: 'runc',
    what: 'a directory of the host leaks into the container',
    fixedIn: ['1.1.12'],
    fixedPackages: [
      { mark: 'deb11u', version: '1.0.0~rc93+ds1-5+deb11u3' },
      { mark: 'deb12u', version: '1.1.5+ds1-1+deb12u1' },
      { mark: '~20.04.', version: '1.1.7-0ubuntu1~20.04.2' },
      { mark: '~22.04.', version: '1.1.7-0ubuntu1~22.04.2' },
    ],
  },
  {
    id: 'CVE-2019-5736',
    kind: 'runc',
    what: 'root in a container overwrites the runtime',
    fixedIn: ['1.0.0'],
    removedBy: { property: 'uid-own', how: 'no cell has the uid that could write the file' },
  },
  {
    id: 'CVE-2021-30465',
    kind: 'runc',
    what: 'a mount is led elsewhere by a link that is exchanged meanwhile',
    fixedIn: ['1.0.0'],
    removedBy: { property: 'mounts-none-of-host', how: 'nothing is mounted that another container could change' },
  },
  {
    id: 'CVE-2025-31133',
    kind: 'runc',
    what: 'a masked path is led elsewhere by a link in the place of /dev/null',
    fixedIn: ['1.2.8', '1.3.3'],
    removedBy: { property: 'mounts-none-of-host', how: 'the image is ours, and nothing in it is shared' },
  },
  {
    id: 'CVE-2025-52881',
    kind: 'runc',
    what: 'writes to /proc are led elsewhere by mounts that are exchanged meanwhile',
    fixedIn: ['1.2.8', '1.3.3'],
    removedBy: { property: 'mounts-none-of-host', how: 'the image is ours, and nothing in it is shared' },
  },
  {
    id: 'CVE-2022-27650',
    kind: 'crun',
    what: 'a process gets inheritable capabilities',
    fixedIn: ['1.4.4'],
    removedBy: {
      property: 'capabilities-none',
      how: 'every set is given as empty, and nothing is executed into a cell',
    },
  },
  {
    id: 'CVE-2022-24769',
    kind: 'docker',
    what: 'a container gets inheritable capabilities',
    fixedIn: ['20.10.14'],
    removedBy: { property: 'capabilities-none', how: 'all capabilities are dropped' },
  },
  {
    id: 'CVE-2024-29018',
    kind: 'docker',
    what: 'names are resolved outside from an internal network',
    fixedIn: ['23.0.11', '25.0.5', '26.0.0'],
    removedBy: { property: 'namespace-network', how: 'a cell has no network' },
  },
  {
    id: 'CVE-2020-15257',
    kind: 'containerd',
    what: 'an abstract socket is reached from the network namespace of the host',
    fixedIn: ['1.3.9', '1.4.3'],
    removedBy: { property: 'namespace-network', how: 'a cell has a network namespace of its own' },
  },
  {
    id: 'CVE-2024-40635',
    kind: 'containerd',
    what: 'a uid above 2147483647 becomes root',
    fixedIn: ['1.6.38', '1.7.27', '2.0.4'],
    removedBy: { property: 'uid-own', how: 'uids of cells are below that' },
  },
  {
    id: 'CVE-2022-27649',
    kind: 'podman',
    what: 'a container gets inheritable capabilities',
    fixedIn: ['4.0.3'],
    removedBy: { property: 'capabilities-none', how: 'all capabilities are dropped' },
  },
];

export interface VersionVerdict {
  /** Holes that are open to a cell: without `runtime-below-floor` accepted, the program is refused. */
  open: readonly KnownHole[];
  /** Holes that it has and our plan removes. */
  removed: readonly KnownHole[];
}

/** What is known against a program. A version that cannot be read has every hole. */
export function judgeVersion(program: ProgramVersion, holes: readonly KnownHole[] = knownHoles): VersionVerdict {
  const present = holes.filter((hole) => hole.kind === program.kind && !isFixed(program, hole));
  return {
    open: present.filter(({ removedBy }) => removedBy === undefined),
    removed: present.filter(({ removedBy }) => removedBy !== undefined),
  };
}

/** In words, for a report: `runc 1.1.5 has CVE-2024-21626 (a directory of …), fixed in 1.1.12`. */
export function describeHoles(program: ProgramVersion, holes: readonly KnownHole[]): string {
  const list = holes.map(({ id, what, fixedIn }) => `${id} (${what}), fixed in ${fixedIn.join(' and ')}`);
  return `${program.kind} ${program.packageVersion ?? program.version} has ${list.join('; ')}`;
}

function isFixed({ version, packageVersion }: ProgramVersion, { fixedIn, fixedPackages = [] }: KnownHole): boolean {
  if (isAtLeastBranch(version, fixedIn)) return true;
  // A distribution mends a hole without raising the version, so below the floor its package has the word.
  return packageVersion !== undefined && fixedPackages.some((fixed) => isSameSeriesAndLater(packageVersion, fixed));
}

function isAtLeastBranch(version: string, fixedIn: readonly string[]): boolean {
  if (numbersOf(version) === undefined) return false;
  const branch = (text: string): string => (numbersOf(text) ?? []).slice(0, 2).join('.');
  const own = fixedIn.find((fixed) => branch(fixed) === branch(version)) ?? fixedIn.at(-1);
  return own !== undefined && !isBelow(version, own);
}

const numbersOf = (text: string): number[] | undefined => /\d+(\.\d+)+/.exec(text)?.[0].split('.').map(Number);

/** Numbers by numbers; what stands around them does not count. What has no numbers is below everything. */
export function isBelow(version: string, floor: string): boolean {
  const [have, want] = [numbersOf(version) ?? [], numbersOf(floor) ?? []];
  for (let i = 0; i < want.length; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/**
 * Only of one upstream version and one release of a distribution can it be told by order which came first: a later
 * upstream version of another release may well lack the remedy.
 */
function isSameSeriesAndLater(packageVersion: string, { mark, version }: FixedPackage): boolean {
  return (
    packageVersion.includes(mark) &&
    upstreamOf(packageVersion) === upstreamOf(version) &&
    compareDebianVersions(packageVersion, version) >= 0
  );
}

/** As deb-version(7) orders the versions of one epoch: first what is upstream's, then the revision. */
export function compareDebianVersions(a: string, b: string): number {
  const revision = (text: string): string => (text.includes('-') ? text.slice(text.lastIndexOf('-') + 1) : '');
  return compareParts(upstreamOf(a), upstreamOf(b)) || compareParts(revision(a), revision(b));
}

const upstreamOf = (version: string): string => version.replace(/-[^-]*$/, '');

/** Text and numbers in turns; `~` comes before everything, even the end. */
function compareParts(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [one, other] = [left[i] ?? nothing, right[i] ?? nothing];
    const difference = compareText(one.text, other.text) || one.number - other.number;
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

const nothing = { text: '', number: 0 };

const partsOf = (version: string): { text: string; number: number }[] =>
  [...version.matchAll(/([^\d]*)(\d*)/g)]
    .filter(([whole]) => whole !== '')
    .map(([, text = '', number = '']) => ({ text, number: Number(number) }));

function compareText(a: string, b: string): number {
  const rank = (character: string | undefined): number => {
    if (character === '~') return -1;
    if (character === undefined) return 0;
    return /[A-Za-z]/.test(character) ? character.charCodeAt(0) : character.charCodeAt(0) + 256;
  };
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = rank(a[i]) - rank(b[i]);
    if (difference !== 0) return difference;
  }
  return 0;
}
