import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import { createCelldDriver } from '@glovebox/cell-celld';
import { createDockerDriver } from '@glovebox/cell-docker';
import { createOciDriver, type OciDriverOptions } from '@glovebox/cell-oci';
import { newInstanceId } from '@glovebox/contract';
import { imageArchive } from '@glovebox/image-rootfs';
import { startCelld } from '../../test/support/celld.ts';
import { startDockerEngine } from '../../test/support/docker-engine.ts';
import { findOnPath } from './find-on-path.ts';
import { type Closing, tryOpen, type Variant } from './variant.ts';

/** A container engine to measure with, and whose it is. */
export interface ContainerEngine {
  socketPath: string;
  origin: string;
}

/**
 * An engine of our own, in namespaces of its own, where dockerd is installed: what an engine of the machine is configured
 * to do shows in no figure then, and nothing is left with it.
 */
export const openContainerEngine = (closing: Closing): Promise<Variant<ContainerEngine>> =>
  tryOpen(async () => {
    if (findOnPath('dockerd') === undefined) throw new Error('dockerd is not installed');
    const engine = await startDockerEngine();
    closing(() => engine.stop());
    return { socketPath: engine.socketPath, origin: 'an engine that the benchmark started' };
  });

export interface DriverPlaces {
  /** Of the benchmark; run directories of the drivers are made in it. */
  dir: string;
  /** Holds the unpacked images, a directory each. */
  imagesDirectory: string;
}

const imageOf = ({ imagesDirectory }: DriverPlaces, digest: string): string =>
  join(imagesDirectory, digest.slice('sha256:'.length));

/** A driver over an OCI runtime, in a run directory of its own. */
export function openOci(
  places: DriverPlaces,
  options: Pick<OciDriverOptions, 'runtime' | 'acceptedRisks'> = {},
): CellDriver {
  return createOciDriver({
    instance: newInstanceId(),
    runDirectory: mkdtempSync(join(places.dir, 'run-')),
    rootfsOf: (digest) => join(imageOf(places, digest), 'rootfs'),
    ...options,
  });
}

export function openDocker(places: DriverPlaces, { socketPath }: ContainerEngine): CellDriver {
  return createDockerDriver({
    instance: newInstanceId(),
    engine: { socketPath },
    runDirectory: mkdtempSync(join(places.dir, 'run-')),
    archiveOf: (digest) => imageArchive(imageOf(places, digest)),
  });
}

/** celld in a process of its own, over an OCI runtime. */
export async function openCelld(places: DriverPlaces, closing: Closing): Promise<CellDriver> {
  const celld = await startCelld({ imagesDirectory: places.imagesDirectory });
  closing(() => celld.end('SIGTERM'));
  return createCelldDriver({ socketPath: celld.socketPath });
}
