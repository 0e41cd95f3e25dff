import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import type { EngineAddress } from '@glovebox/cell-docker';
import type { OciDriverOptions, RuntimeChoice } from '@glovebox/cell-oci';
import { GloveboxError, type InstanceId } from '@glovebox/contract';
import type { Dialer, Resolver } from '@glovebox/egress';
import type { ImageStore, PackageSource } from '@glovebox/engine';
import { type Config, type DockerSettings, environmentNames } from './config.ts';

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

/** Through which everything of this process leaves. @throws GloveboxError `CONFIG_INVALID` where a certificate cannot be read. */
export async function openDialer(config: Config): Promise<Dialer> {
  const { createDialer } = await import('@glovebox/egress');
  return createDialer({
    resolver: await openResolver(config),
    extraCa: certificatesOf(config),
    proxy: config.egress.proxy,
  });
}

/** Names as this host knows them, after those of the administrator's own table. */
export async function openResolver({ egress }: Config): Promise<Resolver> {
  const { fixedResolver, systemResolver } = await import('@glovebox/egress');
  const table = Object.entries(egress.hosts).map(([host, address]) => [host, [address]] as const);
  return fixedResolver(Object.fromEntries(table), systemResolver());
}

function certificatesOf({ extraCa, egress }: Config): string[] {
  const files = [
    ...(extraCa === undefined ? [] : [{ setting: environmentNames.extraCa, path: extraCa }]),
    ...egress.extraCa.map((path) => ({ setting: 'egress.extraCa', path })),
  ];
  return files.map(({ setting, path }) => {
    try {
      return readFileSync(path, 'utf8');
    } catch (cause) {
      throw new GloveboxError('CONFIG_INVALID', {
        message: `${path}, named by ${setting}, cannot be read: ${(cause as Error).message}.`,
        place: { file: path },
        cause,
      });
    }
  });
}

export async function openImages(config: Config, places: Places = {}): Promise<ImageStore> {
  const { createImageStore } = await import('@glovebox/image-rootfs');
  return createImageStore({ dataDir: places.imagesDir ?? config.dataDir });
}

/** The driver that is configured. It looks at nothing yet. */
export async function openDriver(
  config: Config,
  instance: InstanceId,
  overrides: DriverOverrides = {},
  places: Places = {},
): Promise<CellDriver> {
  switch (config.driver) {
    case 'oci':
      return openOciDriver(config, instance, overrides, places);
    case 'docker':
      return openDockerDriver(config, requireSettings(config, 'docker'), instance, places);
    case 'celld': {
      const { createCelldDriver } = await import('@glovebox/cell-celld');
      const { socket, uid } = requireSettings(config, 'celld');
      return createCelldDriver({ socketPath: socket, ...(uid === undefined ? {} : { celldUid: uid }) });
    }
  }
}

async function openOciDriver(
  config: Config,
  instance: InstanceId,
  overrides: DriverOverrides,
  places: Places,
): Promise<CellDriver> {
  const { createOciDriver } = await import('@glovebox/cell-oci');
  return createOciDriver({
    runDirectory: join(config.dataDir, 'run'),
    instance,
    claimsDirectory,
    acceptedRisks: config.acceptedRisks,
    rootfsOf: (digest: string) => join(imageDirOf(config, places, digest), 'rootfs'),
    ...(config.runtime === 'auto' ? {} : { runtime: config.runtime as RuntimeChoice }),
    ...overrides,
  });
}

async function openDockerDriver(
  config: Config,
  settings: DockerSettings,
  instance: InstanceId,
  places: Places,
): Promise<CellDriver> {
  const [{ createDockerDriver }, { imageArchive }] = await Promise.all([
    import('@glovebox/cell-docker'),
    import('@glovebox/image-rootfs'),
  ]);
  return createDockerDriver({
    runDirectory: join(config.dataDir, 'run'),
    instance,
    claimsDirectory,
    acceptedRisks: config.acceptedRisks,
    engine: addressOf(settings),
    archiveOf: (digest) => imageArchive(imageDirOf(config, places, digest)),
    ...(settings.runtime === undefined ? {} : { runtime: settings.runtime }),
  });
}

const imageDirOf = (config: Config, { imagesDir }: Places, digest: string): string =>
  join(imagesDir ?? config.dataDir, 'images', digest.slice('sha256:'.length));

function requireSettings<Name extends 'docker' | 'celld'>(config: Config, name: Name): NonNullable<Config[Name]> {
  const settings = config[name];
  if (settings !== undefined) return settings as NonNullable<Config[Name]>;
  throw new GloveboxError('CONFIG_INVALID', { message: `The driver is ${name}, and nothing is set for it.` });
}

/** @throws GloveboxError `CONFIG_INVALID` where a certificate or key cannot be read. */
function addressOf({ host, tls }: DockerSettings): EngineAddress {
  const url = new URL(host);
  if (tls === undefined) return { socketPath: host.slice('unix://'.length) };
  const read = (name: 'ca' | 'cert' | 'key'): string => {
    try {
      return readFileSync(tls[name], 'utf8');
    } catch (cause) {
      throw new GloveboxError('CONFIG_INVALID', {
        message: `docker.tls.${name} cannot be read: ${(cause as Error).message}.`,
        cause,
      });
    }
  };
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return { host: hostname, port: Number(url.port), tls: { ca: read('ca'), cert: read('cert'), key: read('key') } };
}
