import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Newest first. */
const releases = ['trixie', 'bookworm'] as const;

/** Where apt gets Debian from on this host; undefined where it does not. */
export function debianMirror(): string | undefined {
  try {
    const fields = ['--format', '$(ORIGIN) $(LABEL) $(REPO_URI)', 'Created-By: Packages'];
    const targets = execFileSync('apt-get', ['indextargets', ...fields], { encoding: 'utf8' });
    return /^Debian Debian (https?:\/\/\S+)$/m.exec(targets)?.[1];
  } catch {
    return undefined;
  }
}

/** The newest release of Debian that is not the one of this host. */
export function otherRelease(): string {
  const here = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  return releases.find((release) => release !== here) ?? releases[0];
}

/** What Glovebox takes of a system, by Debian packages: see `tools/bootstrap/needs.mjs`. */
const packages = ['crun', 'util-linux', 'mount', 'libatomic1', 'libstdc++6'];

/** Another Debian in a directory, with this clone in it and everything that Glovebox needs. */
export interface OtherDebian {
  /** Run the command line as root in it, with namespaces and cgroups of its own. @returns stdout. */
  glovebox(...args: string[]): Promise<string>;
  /** Where its root directory is here. */
  root: string;
}

/** Install a release of Debian from a mirror. Takes a minute or two. */
export async function installDebian(root: string, release: string, mirror: string): Promise<OtherDebian> {
  const options = ['--variant=minbase', `--include=${packages.join(',')}`];
  await run('debootstrap', [...options, release, root, mirror], { maxBuffer: 16 << 20 });
  mkdirSync(join(root, 'srv'), { recursive: true });
  for (const [from, to] of handedOver) if (existsSync(from)) copyFileSync(from, join(root, to));
  return { root, glovebox: async (...args) => (await run('unshare', argumentsFor(root, args), options16)).stdout };
}

const options16 = { maxBuffer: 16 << 20, cwd: '/' };

/** What leads to the package registry is a matter of the machine. */
const handedOver: [from: string, to: string][] = [
  ['/etc/resolv.conf', 'etc/resolv.conf'],
  ['/etc/hosts', 'etc/hosts'],
  [process.env.GLOVEBOX_EXTRA_CA ?? '', 'srv/ca.pem'],
  [process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'), 'srv/npmrc'],
];

/**
 * A new root, not a chroot: the kernel makes no user namespace in one. The mounts are gone with the mount namespace, thus with
 * the command.
 */
const enter = [
  'set -e',
  'mount --bind "$1" "$1"',
  'cd "$1"',
  'mkdir -p srv/clone srv/old',
  'mount --bind "$2" srv/clone',
  'mount --rbind /sys sys',
  'mount --rbind /dev dev',
  'mount -t proc proc proc',
  'pivot_root . srv/old',
  'umount -l /srv/old',
  'shift 2',
  'exec env -i "$@"',
].join('\n');

function argumentsFor(root: string, args: string[]): string[] {
  const clone = new URL('../../', import.meta.url).pathname;
  const env = [
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME=/srv',
    'npm_config_userconfig=/srv/npmrc',
    ...(process.env.npm_config_registry === undefined
      ? []
      : [`npm_config_registry=${process.env.npm_config_registry}`]),
    ...(process.env.GLOVEBOX_EXTRA_CA === undefined ? [] : ['GLOVEBOX_EXTRA_CA=/srv/ca.pem']),
  ];
  const node = `/srv/clone/node_modules/node-linux-${process.arch}/bin/node`;
  const program = [...env, node, '/srv/clone/apps/cli/bin/glovebox.mjs', ...args];
  return ['--mount', '--propagation', 'private', 'sh', '-c', enter, 'sh', root, clone, ...program];
}
