import { type CellProfile, cellUid, type FactOutcome } from '@glovebox/cell';
import { maskedByRunsc } from './runsc-spec.ts';

/** What a cell whose kernel is in user space cannot tell by itself, and why. The host is asked in its place. */
const untold: Readonly<Record<string, string>> = {
  'namespace-mount': 'its own kernel shows no mount namespace',
  'namespace-ipc': 'its own kernel shows no ipc namespace',
  'namespace-uts': 'its own kernel shows no uts namespace',
  'namespace-cgroup': 'its own kernel has no cgroups',
  rlimits: 'its own kernel does not show limits of processes',
};

/** Cells on runsc's kernel. What they see of ids, devices and /proc is that kernel's, and leads nowhere on the host. */
export const gvisorProfile: CellProfile = {
  ownKernel: {
    untold: ['CapAmb', 'NoNewPrivs', 'nosuid', 'nodev'],
    devices: ['/dev/fuse c 10:229', '/dev/tty c 5:0', '/dev/pts/ptmx c 5:2'],
    mountPoints: ['/dev/pts'],
    harmless: [
      'lower oom_score_adj',
      'read /proc/cmdline',
      'read /proc/cpuinfo',
      'read /proc/meminfo',
      'read /dev/shm',
    ],
    refused: ['write /dev/tty'],
  },
  userNamespace: 'own',
  uid: cellUid,
  rootOptions: ['ro'],
  devOptions: ['noexec'],
  masked: maskedByRunsc.filter((path) => path !== '/dev/pts'),
  lacks: Object.keys(untold),
};

/** What the probe could not be asked, for reports: seen on the host, as far as it was. */
export const untoldFacts = (): [string, FactOutcome][] =>
  Object.entries(untold).map(([property, why]) => [
    property,
    { state: 'degraded', detail: `${why}; see sandbox-confined` },
  ]);
