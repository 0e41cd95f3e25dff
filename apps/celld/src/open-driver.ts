import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import type { RuntimeChoice } from '@glovebox/cell-oci';
import type { InstanceId } from '@glovebox/contract';
import type { KnownImages } from './images.ts';
import type { Settings } from './settings.ts';

/** The driver by which this celld makes cells. Only the chosen one is loaded. */
export function openDriver(settings: Settings, instance: InstanceId, images: KnownImages): Promise<CellDriver> {
  return settings.driver === 'oci'
    ? openOciDriver(settings, instance, images)
    : openDockerDriver(settings, instance, images);
}

async function openOciDriver(settings: Settings, instance: InstanceId, images: KnownImages): Promise<CellDriver> {
  const { createOciDriver } = await import('@glovebox/cell-oci');
  return createOciDriver({
    ...shared(settings, instance),
    rootfsOf: (digest) => join(images.require(digest), 'rootfs'),
    ...(settings.runtime === undefined ? {} : { runtime: settings.runtime as RuntimeChoice }),
  });
}

async function openDockerDriver(settings: Settings, instance: InstanceId, images: KnownImages): Promise<CellDriver> {
  const [{ createDockerDriver }, { imageArchive }] = await Promise.all([
    import('@glovebox/cell-docker'),
    import('@glovebox/image-rootfs'),
  ]);
  return createDockerDriver({
    ...shared(settings, instance),
    engine: { socketPath: settings.engine },
    archiveOf: (digest) => imageArchive(images.require(digest)),
    ...(settings.runtime === undefined ? {} : { runtime: settings.runtime }),
  });
}

const shared = ({ runDirectory, claimsDirectory, acceptedRisks }: Settings, instance: InstanceId) => ({
  instance,
  runDirectory,
  acceptedRisks,
  ...(claimsDirectory === undefined ? {} : { claimsDirectory }),
});
