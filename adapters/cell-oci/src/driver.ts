import {
  type Cell,
  type CellDriver,
  type CellGauges,
  checkPlan,
  type HostReport,
  idInUse,
  type SweepReport,
} from '@glovebox/cell';
import { formatOwnedName, isMadeBy, type OwnedName, openUidClaims, readOwnMark } from '@glovebox/cell/host';
import type { CellClass, CellId, CellPlan } from '@glovebox/contract';
import { type BootContext, type BootedCell, bootCell, bundleOwner } from './boot.ts';
import { createBootTurns, whenMade } from './boot-turns.ts';
import { cellFolder } from './cell-folder.ts';
import { readHierarchies } from './cgroup-hierarchies.ts';
import { readGauges } from './gauges.ts';
import { type Host, readHost, requirePlatform, requireRoot, requireUserNamespaces } from './host.ts';
import { inspectHost } from './inspect.ts';
import { driverName, type OciDriverOptions, resolveOptions } from './options.ts';
import { sweepHost } from './sweep.ts';

/**
 * The driver that runs an OCI runtime directly on a bundle that it writes itself: no daemon, no engine. It needs root.
 *
 * A cell lives no longer than the thread that booted it: boot from the main thread.
 */
export function createOciDriver(given: OciDriverOptions): CellDriver {
  const options = resolveOptions(given);
  const mark = readOwnMark(options.instance);
  const claims = openUidClaims(options.claimsDirectory);
  /** Cells of ours of which a trace could not be removed: the only own ones that a sweep may touch. */
  const lost = new Set<CellId>();
  const turns = createBootTurns(options.bootsAtOnce);
  const hosts = new Map<CellClass, Promise<Host>>();

  const findHost = (cellClass: CellClass): Promise<Host> => {
    const known = hosts.get(cellClass);
    if (known !== undefined) return known;
    const finding = readHost(options, cellClass).catch((thrown: unknown) => {
      hosts.delete(cellClass);
      throw thrown;
    });
    hosts.set(cellClass, finding);
    return finding;
  };

  const isOwn = (name: OwnedName): boolean => isMadeBy(mark, name);

  const boot = async (unsafePlan: CellPlan, unsafeId: CellId, onBooted?: (cell: BootedCell) => void): Promise<Cell> => {
    const plan = checkPlan(unsafePlan, unsafeId);
    if (lost.has(unsafeId)) throw idInUse();
    requirePlatform();
    requireRoot();
    // It can be turned off while we run, and the runtime's word for it would be vague.
    requireUserNamespaces();
    const context: BootContext = {
      options,
      host: await findHost(plan.class),
      mark,
      claims,
      onLost: (id) => lost.add(id),
    };
    const { pidFile } = cellFolder(
      options.runDirectory,
      formatOwnedName(unsafeId, mark),
      bundleOwner(context.host.runtime),
    );
    const end = await turns.begin();
    try {
      const cell = await bootCell(context, plan, unsafeId, onBooted);
      void whenMade(cell, pidFile).then(end);
      return cell;
    } catch (thrown) {
      end();
      throw thrown;
    }
  };

  return {
    name: driverName,
    boot: (plan, id) => boot(plan, id),
    inspect: (image?: string, cellClass: CellClass = 'ns'): Promise<HostReport> =>
      inspectHost({ options, boot }, image, cellClass),
    sweep: (): Promise<SweepReport> => {
      requireRoot();
      return sweepHost({
        runDirectory: options.runDirectory,
        hierarchies: readHierarchies(),
        claims,
        isOwn,
        isLost: (name) => lost.has(name.cell),
      });
    },
    gauges: async (): Promise<CellGauges> =>
      readGauges({
        instance: options.instance,
        runDirectory: options.runDirectory,
        hierarchies: readHierarchies(),
        claims,
      }),
  };
}
