import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What to start a process through so that it sees a changed host: a mount namespace of its own, in which a shell makes the
 * changes. Nobody else sees them, and they go with the process.
 */
export function inMountNamespace(script: string): string[] {
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec', `${script}\nexec "$@"`, 'sh'];
}

/** Programs that are found but cannot be executed there, as if they were not installed. */
export const withoutPrograms = (...paths: string[]): string[] =>
  inMountNamespace(paths.map((path) => `test ! -e ${path} || mount --bind /dev/null ${path}`).join('\n'));

/** `user.max_user_namespaces` reads 0 there. The kernel's own limit is for all, so it is left alone. */
export const withoutUserNamespaces = (zeroFile: string): string[] => {
  mkdirSync(dirname(zeroFile), { recursive: true });
  writeFileSync(zeroFile, '0\n');
  return inMountNamespace(`mount --bind ${zeroFile} /proc/sys/user/max_user_namespaces`);
};

/** No cgroup hierarchy is mounted there. */
export const withoutCgroups = (): string[] =>
  inMountNamespace('umount --recursive /sys/fs/cgroup\nmount -t tmpfs none /sys/fs/cgroup');

/** Every cgroup hierarchy is read-only there, as in a container that was not given any. */
export const withReadOnlyCgroups = (): string[] =>
  inMountNamespace(
    'awk \'$5 ~ "^/sys/fs/cgroup" && / - cgroup2? / { print $5 }\' /proc/self/mountinfo | while read -r at; do mount -o remount,bind,ro "$at"; done',
  );

/** A user without any right, of whom the host knows nothing. */
export const asNobody = (): string[] => [
  'setpriv',
  '--reuid',
  '65534',
  '--regid',
  '65534',
  '--clear-groups',
  '--inh-caps=-all',
  '--bounding-set=-all',
];

/** The directory is read-only there. */
export const withReadOnly = (dir: string): string[] =>
  inMountNamespace(`mount --bind ${dir} ${dir}\nmount -o remount,bind,ro ${dir}`);
