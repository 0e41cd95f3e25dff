import { GloveboxError } from '@glovebox/contract';
import { registryName } from '@glovebox/contract/package-name';
import type { PackageRequest } from '@glovebox/engine';

/** An exact version of semver 2.0.0: a tag or a range would let the registry choose. */
const versionPattern = /^\d{1,16}\.\d{1,16}\.\d{1,16}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
const integrityPattern = /^sha512-[A-Za-z0-9+/]{86}==$/;

/** @throws GloveboxError `LOCKFILE_ENTRY_REFUSED`. */
export function refuseMalformed({ name, version, integrity }: PackageRequest): void {
  const wrong = !registryName.test(name)
    ? 'name'
    : !versionPattern.test(version) || version.length > 256
      ? 'version'
      : undefined;
  const part = wrong ?? (integrityPattern.test(integrity) ? undefined : 'integrity');
  if (part === undefined) return;
  throw new GloveboxError('LOCKFILE_ENTRY_REFUSED', {
    message: `${JSON.stringify(name)} at ${JSON.stringify(version)} has no ${part} that a registry package can have.`,
    hint: 'Entries need an exact version and one sha512 integrity.',
  });
}

/**
 * The metadata must be of this very package and version, and state the integrity that is asked for: otherwise the
 * registry has other bytes under this name than the lockfile's author saw.
 *
 * @throws GloveboxError `DEPENDENCY_INTEGRITY`.
 */
export async function checkMetadata(unsafeMetadata: unknown, request: PackageRequest): Promise<void> {
  const { name, version, dist } = (unsafeMetadata ?? {}) as {
    name?: unknown;
    version?: unknown;
    dist?: { integrity?: unknown };
  };
  if (name !== request.name || version !== request.version)
    throw differs(request, 'the registry’s metadata is of another package or version');
  const stated = dist?.integrity;
  if (typeof stated !== 'string') throw differs(request, 'the registry’s metadata states no integrity');
  const { default: ssri } = await import('ssri');
  const digests = (ssri.parse(stated)?.sha512 ?? []).map(({ digest }) => `sha512-${digest}`);
  if (digests.length === 0) throw differs(request, 'the registry’s metadata states no sha512');
  if (digests.some((digest) => digest !== request.integrity))
    throw differs(request, 'the registry’s metadata states another one');
}

/** @throws GloveboxError `DEPENDENCY_INTEGRITY`. */
export async function checkTarball(bytes: Uint8Array, request: PackageRequest): Promise<void> {
  const { default: ssri } = await import('ssri');
  if (ssri.checkData(bytes, request.integrity, { algorithms: ['sha512'] }) === false) {
    throw differs(request, 'the tarball that the registry gave has another one');
  }
}

const differs = ({ name, version }: PackageRequest, reason: string): GloveboxError =>
  new GloveboxError('DEPENDENCY_INTEGRITY', {
    message: `${name}@${version} does not have the integrity that the lockfile names: ${reason}.`,
    details: { name, version },
  });
