import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import type { OciDriverOptions, RuntimeChoice } from '@glovebox/cell-oci';
import type { InstanceId } from '@glovebox/contract';
import type { ImageStore, PackageSource } from '@glovebox/engine';
import type { Config } from './config.ts';

/** Host uids in use by cells, of every data directory on this host. */
export const claimsDirectory = '/run/glovebox-uids';

/** What tests and the demo take away from cells; the receipt names it. No command sets any of it. */
export type DriverOverrides = Pick<OciDriverOptions, 'weakenForTest' | 'ignoreDeadlineForTest'>;

/** Where parts are that need not lie in the data directory. */
export interface Places {
  /** Holds `images/`; shared by several engines. */
  imagesDir?: string;
  /** In place of `cache/`; shared by several engines. */
  cacheDir?: string;
}

/** The directory of one cache. What is in it may be deleted at any time. */
export const cacheOf = (config: Config, { cacheDir }: Places, name: 'packages' | 'bundles' | 'checks'): string =>
  join(cacheDir ?? join(config.dataDir, 'cache'), name);

export async function openPackages(config: Config, places: Places = {}): Promise<PackageSource> {
  const { createPackageSource } = await import('@glovebox/registry-npm');
  return createPackageSource({
    cacheDir: cacheOf(config, places, 'packages'),
    ...(config.registry === undefined ? {} : { registry: config.registry }),
    ...(config.extraCa === undefined ? {} : { caFile: config.extraCa }),
  });
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
