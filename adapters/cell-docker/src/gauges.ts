import type { CellGauges } from '@glovebox/cell';
import type { UidClaims } from '@glovebox/cell/host';
import type { InstanceId } from '@glovebox/contract';
import { cellLabel } from './boot.ts';
import type { EngineApi } from './engine-api.ts';
import { nameOf } from './sweep.ts';

export interface GaugeContext {
  api: EngineApi;
  claims: UidClaims;
  instance: InstanceId;
}

const statsDeadlineMs = 2_000;

/** Namespaces that every container of ours has to itself: mount, pid, network, ipc, uts, cgroup. */
const namespacesEach = 6;

/**
 * What the engine holds of this instance. It does not tell mounts and namespaces; where a container runs they are there, and
 * are counted as what it has at the least. What runs and cannot be counted is one process.
 */
export async function readGauges({ api, claims, instance }: GaugeContext): Promise<CellGauges> {
  const listed = (await api.list(cellLabel)).filter((one) => nameOf(one)?.owner.instance === instance);
  const running = listed.filter(({ State }) => State === 'running' || State === 'paused');
  const processes = await Promise.all(
    running.map(async ({ Id }) => {
      const stats = await api.stats(Id, statsDeadlineMs).catch(() => undefined);
      return Math.max(1, stats?.pids_stats?.current ?? 0);
    }),
  );
  return {
    cells: listed.length,
    processes: processes.reduce((sum, count) => sum + count, 0),
    cgroups: running.length,
    mounts: running.length,
    namespaces: running.length * namespacesEach,
    directories: listed.length,
    uidClaims: claims.list().filter(({ kept }) => kept?.name.owner.instance === instance).length,
  };
}
