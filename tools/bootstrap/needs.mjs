// @ts-check
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/**
 * Something of the system without which tasks cannot run, and the Debian package that has it.
 * @typedef {{ what: string, package: string, commands?: string[], library?: string }} Need
 *   `commands`: any one of them will do. `library`: a shared object by its soname.
 */

/** @type {Need[]} */
export const needs = [
  { what: 'an OCI runtime (crun or runc)', package: 'crun', commands: ['crun', 'runc'] },
  { what: 'unshare', package: 'util-linux', commands: ['unshare'] },
  { what: 'setpriv', package: 'util-linux', commands: ['setpriv'] },
  { what: 'mount', package: 'mount', commands: ['mount'] },
  { what: 'umount', package: 'mount', commands: ['umount'] },
  { what: 'libatomic.so.1 (Node.js loads it)', package: 'libatomic1', library: 'libatomic.so.1' },
  { what: 'libstdc++.so.6 (Node.js loads it)', package: 'libstdc++6', library: 'libstdc++.so.6' },
];

/** What only tests need: both runtimes, to hold them to the same; and tools that look, or make what they are given. */
/** @type {Need[]} */
export const testNeeds = [
  { what: 'runc (tests of the second runtime)', package: 'runc', commands: ['runc'] },
  { what: 'openssl (tests make certificates)', package: 'openssl', commands: ['openssl'] },
  { what: 'git (tests plant a repository)', package: 'git', commands: ['git'] },
  { what: 'ps (tests look for processes)', package: 'procps', commands: ['ps'] },
  { what: 'strace (tests trace what cells call)', package: 'strace', commands: ['strace'] },
  { what: 'tcpdump (tests capture packets)', package: 'tcpdump', commands: ['tcpdump'] },
  { what: 'skopeo (tests read artifacts with it)', package: 'skopeo', commands: ['skopeo'] },
  { what: 'umoci (tests read artifacts with it)', package: 'umoci', commands: ['umoci'] },
  { what: 'dockerd (tests start engines of their own)', package: 'docker.io', commands: ['dockerd'] },
  { what: 'podman (tests start engines of their own)', package: 'podman', commands: ['podman'] },
  { what: 'runsc (tests of cells with a kernel in user space)', package: 'runsc', commands: ['runsc'] },
  { what: 'strace (tests compare the seccomp list with what is called)', package: 'strace', commands: ['strace'] },
  {
    what: 'debootstrap (a long test installs another release of Debian)',
    package: 'debootstrap',
    commands: ['debootstrap'],
  },
];

/**
 * By looking at files alone: this runs before every task.
 * @param {Need[]} wanted
 * @param {string[]} searchPath
 * @returns {Need[]} in the order of `wanted`
 */
export function missingNeeds(wanted, searchPath) {
  return wanted.filter((need) =>
    need.library === undefined
      ? !(need.commands ?? []).some((command) => searchPath.some((dir) => canRun(join(dir, command))))
      : !libraryDirectories().some((dir) => exists(join(dir, /** @type {string} */ (need.library)))),
  );
}

/** The dynamic loader that the pinned Node.js asks for. */
export function loaderIsThere() {
  return exists(process.arch === 'arm64' ? '/lib/ld-linux-aarch64.so.1' : '/lib64/ld-linux-x86-64.so.2');
}

function libraryDirectories() {
  const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return [`/lib/${triplet}`, `/usr/lib/${triplet}`, '/lib64', '/usr/lib64', '/usr/local/lib', '/lib', '/usr/lib'];
}

/** @param {string} path */
export function canRun(path) {
  return allows(path, constants.X_OK);
}

/** @param {string} path */
export function exists(path) {
  return allows(path, constants.F_OK);
}

/**
 * @param {string} path
 * @param {number} mode
 */
function allows(path, mode) {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
