import { type CellProfile, cellUid, type FactOutcome } from '@glovebox/cell';
import { maskedByRunsc } from './runsc-spec.ts';

const onHost = 'see sandbox-confined';

/** What a cell whose kernel is in user space cannot tell by itself, why, and where the host is asked in its place. */
const untold: Readonly<Record<string, string>> = {
  'namespace-mount': `its own kernel shows no mount namespace; ${onHost}`,
  'namespace-ipc': `its own kernel shows no ipc namespace; ${onHost}`,
  'namespace-uts': `its own kernel shows no uts namespace; ${onHost}`,
  'namespace-user': `its own kernel numbers user namespaces by itself; ${onHost}`,
  // Nobody looks at that of the sandbox: it sees no cgroups, and those of the host are not in its file tree.
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
  namespacesBy: 'ourselves',
  scratchInodes: 'unlimited',
  uid: cellUid,
  rootOptions: ['ro'],
  devOptions: ['noexec'],
  masked: maskedByRunsc.filter((path) => path !== '/dev/pts'),
  lacks: Object.keys(untold),
};

/** What the probe could not be asked, for reports: seen on the host, as far as it was. */
export const untoldFacts = (): [string, FactOutcome][] =>
  Object.entries(untold).map(([property, why]) => [property, { state: 'degraded', detail: why }]);
