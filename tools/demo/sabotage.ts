import type { OciSpec } from '@glovebox/cell-oci';
import type { DriverOverrides } from '../../apps/cli/src/local-engine.ts';

export const sabotages = ['mount', 'net', 'timeout', 'rules'] as const;
export type Sabotage = (typeof sabotages)[number];

/**
 * One property of a cell, taken away on purpose, to show that the demo sees it when it is gone. The receipt of such a run
 * names it: `weakened-for-test`.
 */
export function weakened(sabotage: Sabotage, canaryDir: string): DriverOverrides {
  switch (sabotage) {
    case 'mount':
      return {
        weakenForTest: (spec) => ({
          ...spec,
          mounts: [
            ...spec.mounts,
            { destination: '/tmp/host', type: 'bind', source: canaryDir, options: ['bind', 'ro'] },
          ],
        }),
      };
    case 'net':
      return { weakenForTest: withHostNetwork };
    case 'timeout':
      return { ignoreDeadlineForTest: true };
    // Not of a cell: the manifest of the node that asks is widened, see egress.ts.
    case 'rules':
      return {};
  }
}

/** The host's network, a filter that lets sockets be made, and a Node.js that does not refuse them by itself. */
function withHostNetwork(spec: OciSpec): OciSpec {
  const { seccomp } = spec.linux;
  if (seccomp === undefined) throw new Error('there is no filter to weaken');
  const syscalls = [
    { names: ['socket', 'connect', 'bind', 'setsockopt'], action: 'SCMP_ACT_ALLOW' as const },
    ...seccomp.syscalls.filter(({ names }) => !names.includes('socket')),
  ];
  return {
    ...spec,
    process: {
      ...spec.process,
      args: spec.process.args.filter((arg) => arg !== '--permission' && !arg.startsWith('--allow-')),
    },
    linux: {
      ...spec.linux,
      namespaces: spec.linux.namespaces.filter(({ type }) => type !== 'network'),
      seccomp: { ...seccomp, syscalls },
    },
  };
}
