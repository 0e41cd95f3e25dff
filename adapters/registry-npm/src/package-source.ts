import { GloveboxError } from '@glovebox/contract';
import type { PackageRequest, PackageSource } from '@glovebox/engine';
import { concurrencyLimit } from './concurrency-limit.ts';
import { type Environment, type NpmConfig, type NpmConfigSources, readNpmConfig } from './npm-config.ts';
import { checkMetadata, checkTarball, refuseMalformed } from './package-checks.ts';
import { openPublishTimes, readPublishTime } from './publish-times.ts';
import {
  createRegistryClient,
  defaultRegistryLimits,
  type RegistryClient,
  type RegistryLimits,
} from './registry-client.ts';
import { openTarballCache } from './tarball-cache.ts';

export interface PackageSourceOptions extends Omit<NpmConfigSources, 'env'> {
  /** Where tarballs are kept; may be deleted at any time. */
  cacheDir: string;
  /** Read once, at the first fetch. Defaults to that of this process. */
  env?: Environment;
  limits?: Partial<RegistryLimits>;
}

const atOnce = 8;

/**
 * Packages from the registry that npm is configured with.
 *
 * The address is computed from registry, name and version. Before bytes are believed, three things must agree: the
 * integrity that is asked for, the one that the registry's metadata states, and the sha512 of the bytes. A package that
 * was fetched once comes from the cache, without any network call, and is checked again.
 *
 * Besides the errors of the port: `LOCKFILE_ENTRY_REFUSED` for a request that no registry could answer,
 * `DEPENDENCY_REFUSED` for more than 64 MiB. Credentials of npm's configuration go to their own host only and into no text.
 */
export function createPackageSource(options: PackageSourceOptions): PackageSource {
  const limits = { ...defaultRegistryLimits, ...options.limits };
  const cache = openTarballCache(options.cacheDir);
  const times = openPublishTimes(options.cacheDir);
  const limited = concurrencyLimit(atOnce);
  let opened: { config: NpmConfig; client: RegistryClient } | undefined;
  const open = () => {
    if (opened !== undefined) return opened;
    const config = readNpmConfig({ ...options, env: options.env ?? process.env });
    opened = { config, client: createRegistryClient(config, limits) };
    return opened;
  };

  return {
    registries: () => open().config.registries(),
    async tarball(request, signal) {
      refuseMalformed(request);
      const { config, client } = open();
      const registry = config.registryFor(request.name);
      const key = cacheKey('tarball', registry, request);
      const cached = await cache.find(key, request.integrity);
      if (cached !== undefined) return cached;
      const fetch = async (): Promise<Uint8Array> => {
        const bytes = await fetchChecked(client, registry, request, signal);
        await cache.keep(key, request.integrity, bytes);
        return bytes;
      };
      return limited(fetch, signal).catch((error: unknown) => {
        throw signal?.aborted ? interrupted(request) : error;
      });
    },
    async publishedAt(request, signal) {
      refuseMalformed(request);
      const { config, client } = open();
      const registry = config.registryFor(request.name);
      const key = cacheKey('published', registry, request);
      const cached = await times.find(key);
      if (cached !== undefined) return cached;
      const fetch = async (): Promise<number | undefined> => {
        const publishedAtMs = await fetchPublishTime(client, registry, request, signal);
        // What the registry does not tell today it may tell tomorrow.
        if (publishedAtMs !== undefined) await times.keep(key, publishedAtMs);
        return publishedAtMs;
      };
      return limited(fetch, signal).catch((error: unknown) => {
        throw signal?.aborted ? interrupted(request) : error;
      });
    },
  };
}

/**
 * Out of the metadata of all versions in full: that of one version, and the short one that installers ask for, have no times.
 * A time counts only for the bytes that are asked for, so the version must be there, with this integrity: registries keep
 * the times of versions that they have removed.
 */
async function fetchPublishTime(
  client: RegistryClient,
  registry: URL,
  request: PackageRequest,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const { name, version } = request;
  const what = `the publish time of ${name}@${version}`;
  const all = await client.get(registry, metadataPath(name), { what, accept: 'application/json', signal });
  if (all === undefined) return undefined;
  const { versions, time } = parseMetadata(all, registry, what) as { [member in 'versions' | 'time']?: unknown };
  const metadata = memberOf(versions, version);
  if (metadata === undefined) return undefined;
  await checkMetadata(metadata, request);
  return readPublishTime(memberOf(time, version));
}

const memberOf = (unsafeValue: unknown, name: string): unknown =>
  typeof unsafeValue === 'object' && unsafeValue !== null && Object.hasOwn(unsafeValue, name)
    ? (unsafeValue as { [name: string]: unknown })[name]
    : undefined;

const metadataPath = (name: string): string => name.replace('/', '%2f');

async function fetchChecked(
  client: RegistryClient,
  registry: URL,
  request: PackageRequest,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  await checkMetadata(await fetchMetadata(client, registry, request, signal), request);
  const { name, version } = request;
  const file = `${name.slice(name.indexOf('/') + 1)}-${version}.tgz`;
  const bytes = await client.get(registry, `${name}/-/${encodeURIComponent(file)}`, {
    what: `the tarball of ${name}@${version}`,
    accept: 'application/octet-stream, */*;q=0.5',
    signal,
  });
  if (bytes === undefined)
    throw notFound(request, `The registry ${registry.origin} knows ${name}@${version} but has no tarball of it.`);
  await checkTarball(bytes, request);
  return bytes;
}

/** The metadata of the one version; from registries that do not serve it alone, out of that of all versions. */
async function fetchMetadata(
  client: RegistryClient,
  registry: URL,
  request: PackageRequest,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const { name, version } = request;
  const path = metadataPath(name);
  const what = `the metadata of ${name}@${version}`;
  const one = await client.get(registry, `${path}/${encodeURIComponent(version)}`, {
    what,
    accept: 'application/json',
    signal,
  });
  if (one !== undefined) return parseMetadata(one, registry, what);

  const accept = 'application/vnd.npm.install-v1+json, application/json;q=0.8';
  const all = await client.get(registry, path, { what, accept, signal });
  if (all === undefined) throw notFound(request, `The registry ${registry.origin} has no package ${name}.`);
  const { versions } = parseMetadata(all, registry, what) as { versions?: Record<string, unknown> };
  if (versions === undefined || !Object.hasOwn(versions, version)) {
    throw notFound(request, `The registry ${registry.origin} has no version ${version} of ${name}.`);
  }
  return versions[version];
}

function parseMetadata(bytes: Uint8Array, registry: URL, what: string): object {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new GloveboxError('REGISTRY_UNAVAILABLE', {
    message: `The registry ${registry.origin} gave something else than ${what}.`,
  });
}

const notFound = ({ name, version }: PackageRequest, message: string): GloveboxError =>
  new GloveboxError('DEPENDENCY_NOT_FOUND', { message, details: { name, version } });

const interrupted = ({ name, version }: PackageRequest): GloveboxError =>
  new GloveboxError('INTERRUPTED', { message: `Fetching ${name}@${version} was cancelled.` });

/** Everything that an answer depends on, without credentials. */
const cacheKey = (kind: 'tarball' | 'published', registry: URL, { name, version, integrity }: PackageRequest): string =>
  `glovebox:${kind}:${JSON.stringify([registry.origin + registry.pathname, name, version, integrity])}`;
