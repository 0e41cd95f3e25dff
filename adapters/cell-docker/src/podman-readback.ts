import { isDeepStrictEqual } from 'node:util';
import { cellPaths } from '@glovebox/cell';
import type { CreateBody } from './create-body.ts';
import type { EngineContainer } from './engine-schemas.ts';
import { cpuQuota } from './podman-spec.ts';

/**
 * Properties of which Podman tells another thing than it was told. It tells less than Docker does: nothing of masked paths,
 * of the system-call list and of namespaces but the network's. Those are seen by the probe, from inside.
 */
export function podmanLosses(asked: CreateBody, told: EngineContainer): string[] {
  const { HostConfig: host } = asked;
  const { HostConfig, Config } = told;
  const expected: [property: string, found: unknown, wanted: unknown][] = [
    ['image', told.Image.replace(/^sha256:/, ''), asked.Image.replace(/^sha256:/, '')],
    ['uid-own', Config.User, asked.User],
    ['command-fixed', Config.Cmd, asked.Cmd],
    ['environment-fixed', [Config.Hostname, Config.WorkingDir], [asked.Hostname, asked.WorkingDir]],
    ['ownership', Config.Labels, asked.Labels],
    ['descriptors-fixed', [Config.Tty, Config.OpenStdin], [asked.Tty, asked.OpenStdin]],
    ['cgroup-memory', HostConfig.Memory, host.Memory],
    ['cgroup-swap', HostConfig.MemorySwap, host.MemorySwap],
    ['cgroup-pids', HostConfig.PidsLimit, host.PidsLimit],
    ['cgroup-cpu', { quota: HostConfig.CpuQuota, period: HostConfig.CpuPeriod }, cpuQuota(host.NanoCpus)],
    ['namespace-network', HostConfig.NetworkMode, host.NetworkMode],
    ['namespace-pid', HostConfig.PidMode, 'private'],
    ['namespace-uts', HostConfig.UTSMode, 'private'],
    ['root-read-only', HostConfig.ReadonlyRootfs, host.ReadonlyRootfs],
    ['capabilities-none', [HostConfig.Privileged, HostConfig.CapAdd ?? []], [host.Privileged, []]],
    ['no-new-privileges', HostConfig.SecurityOpt, host.SecurityOpt.filter((option) => !option.includes('='))],
    ['log-none', (HostConfig.LogConfig as { Type?: unknown } | undefined)?.Type, host.LogConfig.Type],
    ['restart-none', (HostConfig.RestartPolicy as { Name?: unknown } | undefined)?.Name, host.RestartPolicy.Name],
    ['rlimits', [HostConfig.OomScoreAdj, limits(HostConfig.Ulimits)], [host.OomScoreAdj, limits(host.Ulimits)]],
    ['mounts-none-of-host', mounts(told.Mounts ?? []), expectedMounts(asked)],
    ['devices-minimal', HostConfig.Devices ?? [], []],
  ];
  return expected.filter(([, found, wanted]) => !isDeepStrictEqual(found, wanted)).map(([property]) => property);
}

/** In any order, and by the names of either. */
function limits(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return (list as { Name: string; Soft: number; Hard: number }[])
    .map(({ Name, Soft, Hard }) => `${Name.toLowerCase().replace(/^rlimit_/, '')} ${Soft} ${Hard}`)
    .sort();
}

const mounts = (list: readonly Readonly<Record<string, unknown>>[]): string[] =>
  list
    .map(({ Type, Source, Destination, RW }) =>
      Type === 'volume' ? `volume ${Destination} ${RW}` : `${Type} ${Source} ${Destination} ${RW}`,
    )
    .sort();

const expectedMounts = ({ HostConfig }: CreateBody): string[] =>
  [
    `volume ${cellPaths.scratch} true`,
    ...HostConfig.ReadonlyPaths.filter((path) => path.startsWith('/dev/') && path !== '/dev/tty').map(
      (path) => `bind ${path} ${path} false`,
    ),
  ].sort();
