import { join } from 'node:path';
import type { Sweeper } from '@glovebox/cell';
import { defaultProject, type GloveboxError } from '@glovebox/contract';
import type { Dialer } from '@glovebox/egress';
import type { Engine } from '@glovebox/engine';
import { openOwnership } from '@glovebox/engine/ownership';
import type { Store } from '@glovebox/store-sqlite';
import { localActor } from './actor.ts';
import {
  cacheOf,
  type DriverOverrides,
  openDialer,
  openDriver,
  openImages,
  openPackages,
  openResolver,
  type Places,
} from './adapters.ts';
import type { Config } from './config.ts';
import { printable } from './output.ts';
import { hasTraces, sweepDataDir } from './sweep.ts';

/** A command that works for hours sweeps while it does: others die beside it. */
const sweepEveryMs = 60_000;

/** The engine of this process, each part opened when it is first asked for. */
export interface LocalParts {
  open<Name extends keyof Engine>(...names: Name[]): Promise<Pick<Engine, Name>>;
  /**
   * Bring to an end what dead processes left, where this process is the owner of the data directory: in the records each
   * time, on the host once. Where another one is, that is its task.
   */
  recover(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens nothing yet. Before any records or cells are handed out, what dead processes left open in the records is ended, and
 * what they left on this host is swept away; that also again, time after time, while cells can be booted.
 *
 * Who asks for the driver boots cells: then SQLite gets a thread of its own, so that no channel and no deadline waits for
 * a disk. A look at the records does without, and opens in a fraction of the time.
 */
export function openLocalParts(config: Config, overrides: DriverOverrides = {}, places: Places = {}): LocalParts {
  const { dataDir } = config;
  const ownership = openOwnership(join(dataDir, 'run'));
  /** Every attempt to open the records, under way or over. */
  const openings: Promise<Store>[] = [];
  let latest: Store | undefined;
  const instance = once(async () => (await import('@glovebox/artifact/instance')).openInstance(dataDir));
  const driver = once(async () => openDriver(config, (await instance()).instance, overrides, places));

  const openRecords = async (where: 'inThread' | 'worker'): Promise<Store> => {
    const { instance: id, signer } = await instance();
    const { openStore } = await import('@glovebox/store-sqlite');
    const store = await openStore(join(dataDir, 'glovebox.db'), {
      inThread: where === 'inThread',
      created: {
        atMs: Date.now(),
        actor: localActor(),
        project: defaultProject,
        action: 'instance.created',
        subject: id,
        details: { keyId: signer.keyId },
      },
    });
    try {
      await recover(store, where === 'worker' ? 'required' : 'possible');
      latest = store;
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  };
  const keepOpening = (where: 'inThread' | 'worker') => (): Promise<Store> => {
    const opening = openRecords(where);
    openings.push(opening);
    return opening;
  };
  const stores = { inThread: once(keepOpening('inThread')), worker: once(keepOpening('worker')) };
  let using: keyof typeof stores = 'inThread';
  const records = (withCells: boolean): Promise<Store> => {
    if (withCells) using = 'worker';
    return stores[using]();
  };

  let sweeper: Sweeper | undefined;
  let swept: 'no' | 'possible' | 'required' = 'no';
  /** @param sweeping `possible`: a look at the records must work on a host that can run no cell, and for who may not sweep. */
  const recover = async (store: Store, sweeping: 'required' | 'possible'): Promise<void> => {
    if (!ownership.claim()) return;
    const { recoverRecords } = await import('@glovebox/engine/recover-records');
    await recoverRecords({ store: store.runs, drafts: store.drafts }, Date.now());
    if (swept === 'required' || swept === sweeping) return;
    await sweepDataDir(dataDir);
    if (sweeping === 'required') {
      const cells = await driver();
      await cells.sweep();
      sweeper ??= (await import('@glovebox/cell')).startSweeper(cells, { everyMs: sweepEveryMs, onFailure: tellSweep });
    } else if (hasTraces(dataDir)) {
      await driver()
        .then((cells) => cells.sweep())
        .catch(() => undefined);
    }
    swept = sweeping;
  };

  const dialers: Dialer[] = [];
  const dialer = once(async () => {
    const opened = await openDialer(config);
    dialers.push(opened);
    return opened;
  });
  const resolver = once(() => openResolver(config));

  const openers: { [Name in keyof Engine]: (withCells: boolean) => Promise<Engine[Name]> } = {
    store: async (withCells) => (await records(withCells)).runs,
    drafts: async (withCells) => (await records(withCells)).drafts,
    releases: async (withCells) => (await records(withCells)).releases,
    audit: async (withCells) => (await records(withCells)).audit,
    egressLog: async (withCells) => (await records(withCells)).egressLog,
    egressPolicies: async (withCells) => (await records(withCells)).egressPolicies,
    // What connects is loaded when something is to be sent, and not by a run that sends nothing.
    egress: once(async () => {
      const { createEgress, lateDialer } = await import('@glovebox/egress/offline');
      return createEgress(lateDialer(dialer));
    }),
    resolver: async () => ({ resolve: async (host, signal) => (await resolver()).resolve(host, signal) }),
    driver: async () => {
      const [cells] = await Promise.all([driver(), records(true)]);
      return cells;
    },
    images: once(() => openImages(config, places)),
    artifacts: once(async () =>
      (await import('@glovebox/artifacts-oci')).createArtifactStore(join(dataDir, 'artifacts')),
    ),
    blobs: once(async () => (await import('@glovebox/blobs-fs')).createBlobStore(join(dataDir, 'blobs'))),
    packages: once(() => openPackages(config, places)),
    cellClass: async () => config.cellClass,
    packagePolicy: async () => ({ minimumAgeMs: config.minimumPackageAgeMs }),
    bundles: once(async () => (await import('@glovebox/engine')).createBundleCache(cacheOf(config, places, 'bundles'))),
    checks: once(async () => (await import('@glovebox/engine')).createCheckCache(cacheOf(config, places, 'checks'))),
    checkTurns: once(async () => (await import('@glovebox/engine')).createTurns()),
    signer: async () => (await instance()).signer,
    keys: async () => {
      const { publicKeyPem, retiredKeyPems } = await instance();
      return [publicKeyPem, ...retiredKeyPems];
    },
    now: async () => Date.now,
    monotonicMs: async () => () => performance.now(),
    bootMs: once(async () => (await import('@glovebox/egress/offline')).openFenceClock()),
  };

  return {
    async open(...names) {
      const withCells = (names as (keyof Engine)[]).includes('driver');
      const parts = await Promise.all(names.map(async (name) => [name, await openers[name](withCells)] as const));
      return Object.fromEntries(parts) as Pick<Engine, (typeof names)[number]>;
    },
    async recover() {
      if (latest !== undefined) await recover(latest, 'possible');
    },
    async close() {
      for (const opened of dialers) opened.destroy();
      // Also what another part's failure has left in the middle of opening.
      for (const opening of await Promise.allSettled(openings.splice(0)))
        if (opening.status === 'fulfilled') await opening.value.close();
      await sweeper?.stop();
      ownership.release();
    },
  };
}

/** A sweep that fails ends no work of others: it is told, and tried again. */
const tellSweep = ({ code, message }: GloveboxError): void =>
  process.emitWarning(printable(`What dead processes left could not be swept: ${message}`), { code });

/** The same promise for every caller; where it fails, the next one tries again. */
function once<Value>(open: () => Promise<Value>): () => Promise<Value> {
  let opening: Promise<Value> | undefined;
  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}
