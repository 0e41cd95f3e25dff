import { errorCatalogue, type Finding, GloveboxError } from '@glovebox/contract';
import { locateFindings } from '@glovebox/validate';
import { restoreDependencies, type Tarball } from '../bundle/restore-dependencies.ts';
import type { LockedPackage, NodePackage, PackageSource } from '../ports.ts';

/** Requests at a time. */
const concurrency = 8;

/**
 * The archives of everything that a lockfile names, each held against its hash; or a finding for each that is not there, or
 * is not what the lockfile says.
 *
 * @throws GloveboxError `REGISTRY_UNAVAILABLE`, `INTERRUPTED`: nothing is known then.
 */
export async function fetchLocked(
  pkg: Pick<NodePackage, 'files' | 'dependencies' | 'devDependencies'>,
  source: PackageSource,
  signal: AbortSignal | undefined,
): Promise<{ ok: true; tarballs: Tarball[] } | { ok: false; findings: Finding[] }> {
  const locked = [...pkg.dependencies, ...pkg.devDependencies];
  try {
    return { ok: true, tarballs: await restoreDependencies(locked, source, signal === undefined ? {} : { signal }) };
  } catch (error) {
    if (!isPackagesFault(error)) throw error;
    // It stops at the first: whoever mends the lockfile wants to know of the others too.
    const findings = await faultsOf(locked, source, signal);
    // Of a package that is refused unfetched, its place in the tree is what the error names.
    if (findings.length === 0)
      findings.push(
        lockFinding(
          error,
          locked.find(({ path }) => path === error.place?.file),
        ),
      );
    return { ok: false, findings: locateFindings(pkg.files, findings) };
  }
}

async function faultsOf(
  locked: readonly LockedPackage[],
  source: PackageSource,
  signal: AbortSignal | undefined,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const queue = [...locked];
  const work = async (): Promise<void> => {
    for (let entry = queue.shift(); entry !== undefined && !signal?.aborted; entry = queue.shift()) {
      const { name, version, integrity } = entry;
      try {
        await source.tarball({ name, version, integrity });
      } catch (error) {
        if (!isPackagesFault(error)) throw error;
        findings.push(lockFinding(error, entry));
      }
    }
  };
  const done = await Promise.allSettled(Array.from({ length: concurrency }, work));
  for (const worker of done) if (worker.status === 'rejected') throw worker.reason;
  return findings;
}

/** Whether it is what a package is, and not what host or registry could not do. */
export function isPackagesFault(error: unknown): error is GloveboxError {
  return error instanceof GloveboxError && ['user', 'final'].includes(errorCatalogue[error.code].kind);
}

/** At the entry of the package in the lockfile. */
export function lockFinding({ code, message, hint }: GloveboxError, entry?: LockedPackage): Finding {
  const path = entry === undefined ? '' : `/packages/${entry.path.replaceAll('/', '~1')}`;
  const place = { file: 'package-lock.json', path };
  return { rule: code, severity: 'error', message, hint: hint ?? errorCatalogue[code].hint, place };
}
