import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import type { OciDriverOptions, RuntimeChoice } from '@glovebox/cell-oci';
import type { InstanceId } from '@glovebox/contract';
import type { Engine, ImageStore, OwnerRef } from '@glovebox/engine';
import type { Store } from '@glovebox/store-sqlite';
import type { Config } from './config.ts';

/** The engine in this process, and how to close it. */
export interface LocalEngine {
  engine: Engine;
  close(): Promise<void>;
}

/** Host uids in use by cells, of every data directory on this host. */
const claimsDirectory = '/run/glovebox-uids';

/** What tests and the demo take away from cells; the receipt names it. No command sets any of it. */
export type DriverOverrides = Pick<OciDriverOptions, 'weakenForTest' | 'ignoreDeadlineForTest'>;

/** Where parts are that need not lie in the data directory. */
export interface Places {
  /** Holds `images/`; shared by several engines. */
  imagesDir?: string;
}

/** Who acts when the CLI works without a server. */
export function localActor(): string {
  return `local:uid=${process.getuid?.() ?? 0}`;
}

/**
 * Open everything that running a node takes. What dead processes left open in the records is ended, and what they left on
 * this host is swept away, before anything new is made.
 */
export async function openLocalEngine(
  config: Config,
  overrides: DriverOverrides = {},
  places: Places = {},
): Promise<LocalEngine> {
  const [
    { openInstance },
    { createArtifactStore },
    { createBlobStore },
    { createPackageSource },
    { createBundleCache, createCheckCache, isDead },
  ] = await Promise.all([
    import('@glovebox/artifact'),
    import('@glovebox/artifacts-oci'),
    import('@glovebox/blobs-fs'),
    import('@glovebox/registry-npm'),
    import('@glovebox/engine'),
  ]);
  const instance = await openInstance(config.dataDir);
  const [store, images, driver] = await Promise.all([
    openStoreOf(config, 'worker'),
    openImages(config, places),
    openDriver(config, instance.instance, overrides, places),
  ]);
  try {
    await settleLeft(store, isDead);
    await sweepDataDir(config.dataDir);
    await driver.sweep();
  } catch (error) {
    await store.close();
    throw error;
  }
  const engine: Engine = {
    store: store.runs,
    drafts: store.drafts,
    releases: store.releases,
    audit: store.audit,
    images,
    driver,
    artifacts: createArtifactStore(join(config.dataDir, 'artifacts')),
    blobs: createBlobStore(join(config.dataDir, 'blobs')),
    packages: createPackageSource({
      cacheDir: join(config.dataDir, 'cache', 'packages'),
      ...(config.registry === undefined ? {} : { registry: config.registry }),
      ...(config.extraCa === undefined ? {} : { caFile: config.extraCa }),
    }),
    bundles: createBundleCache(join(config.dataDir, 'cache', 'bundles')),
    checks: createCheckCache(join(config.dataDir, 'cache', 'checks')),
    signer: instance.signer,
    keys: [instance.publicKeyPem],
    now: Date.now,
    monotonicMs: () => performance.now(),
  };
  return { engine, close: () => store.close() };
}

/**
 * The store, for commands that look at records. Before it is open, what dead processes left open in the records is ended,
 * and what they left on this host is swept away.
 */
export async function openRecords(config: Config): Promise<Store> {
  const [{ openInstance }, { isDead }] = await Promise.all([
    // Makes the data directory where it is not there yet.
    import('@glovebox/artifact'),
    import('@glovebox/engine/host'),
  ]);
  const { instance } = await openInstance(config.dataDir);
  const store = await openStoreOf(config, 'in-thread');
  try {
    await settleLeft(store, isDead);
    await sweepDataDir(config.dataDir);
    // A look at the records must work on a host that can run no cell, and for a user who may not sweep.
    if (hasTraces(config))
      await openDriver(config, instance)
        .then((driver) => driver.sweep())
        .catch(() => undefined);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Remove what killed processes left half-written in the data directory. */
export async function sweepDataDir(dataDir: string): Promise<void> {
  const { removeAbandoned } = await import('@glovebox/engine/staging');
  for (const place of ['blobs/staging', 'images/staging', 'cache/bundles', 'cache/checks'])
    removeAbandoned(join(dataDir, place));
}

/** Whether cells, live or dead, have left anything to be swept, as far as that is known without a driver. */
function hasTraces(config: Config): boolean {
  try {
    if (readdirSync(join(config.dataDir, 'run', 'cells')).length > 0) return true;
  } catch {
    // No cell was ever booted here.
  }
  return existsSync(claimsDirectory);
}

/** Attempts whose process died become LOST, and validations whose process died let go of their drafts. */
async function settleLeft(store: Store, isDead: (owner: OwnerRef) => boolean): Promise<void> {
  await store.runs.markLost(isDead, Date.now());
  await store.drafts.recoverValidations(isDead, Date.now());
}

function openStoreOf(config: Config, where: 'in-thread' | 'worker'): Promise<Store> {
  return import('@glovebox/store-sqlite').then(({ openStore }) =>
    openStore(join(config.dataDir, 'glovebox.db'), { inThread: where === 'in-thread' }),
  );
}

export async function openImages(config: Config, places: Places = {}): Promise<ImageStore> {
  const { createImageStore } = await import('@glovebox/image-rootfs');
  return createImageStore({ dataDir: places.imagesDir ?? config.dataDir });
}

export async function openDriver(
  config: Config,
  instance: InstanceId,
  overrides: DriverOverrides = {},
  places: Places = {},
): Promise<CellDriver> {
  const { createOciDriver } = await import('@glovebox/cell-oci');
  return createOciDriver({
    runDirectory: join(config.dataDir, 'run'),
    instance,
    claimsDirectory,
    rootfsOf: (digest: string) =>
      join(places.imagesDir ?? config.dataDir, 'images', digest.slice('sha256:'.length), 'rootfs'),
    ...(config.runtime === 'auto' ? {} : { runtime: config.runtime as RuntimeChoice }),
    ...overrides,
  });
}
