import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import type { RuntimeChoice } from '@glovebox/cell-oci';
import type { InstanceId } from '@glovebox/contract';
import type { KnownImages } from './images.ts';
import type { Settings } from './settings.ts';

/** The driver by which this celld makes cells. Only the chosen one is loaded. */
export async function openDriver(settings: Settings, instance: InstanceId, images: KnownImages): Promise<CellDriver> {
  const { runDirectory, claimsDirectory, runtime } = settings;
  const { createOciDriver } = await import('@glovebox/cell-oci');
  return createOciDriver({
    instance,
    runDirectory,
    rootfsOf: (digest) => join(images.require(digest), 'rootfs'),
    ...(claimsDirectory === undefined ? {} : { claimsDirectory }),
    ...(runtime === undefined ? {} : { runtime: runtime as RuntimeChoice }),
  });
}
