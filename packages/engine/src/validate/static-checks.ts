import { GloveboxError, type Manifest } from '@glovebox/contract';
import {
  gatherSnapshot,
  locateFindings,
  type ReadResult,
  readPackageFiles,
  type StaticCheck,
  type StaticFinding,
  staticChecks,
  type ValueJudge,
} from '@glovebox/validate';
import type { CheckCache, NodePackage, PackagePolicy, PackageSource } from '../ports.ts';
import type { CheckEnd, Checklist } from './checklist.ts';
import { judged } from './outcome.ts';
import { findVerdict, staticKey } from './verdicts.ts';

/** What reading found. The lockfile check has not ended yet: what it names has not been fetched. */
export interface StaticReading {
  pkg: NodePackage;
  lockfile: CheckEnd;
  /** Of the verdict, once all three have passed. */
  key: string;
}

export interface StaticPorts {
  checklist: Checklist;
  source: PackageSource;
  policy: PackagePolicy;
  checks: CheckCache;
  openJudge: (manifest: Manifest) => ValueJudge;
}

/**
 * Perform the checks that boot no cell: package, manifest and lockfile, all findings of all three. Those of the lockfile
 * check end it only where it fails; else it is left to whoever fetches.
 *
 * @param openJudge over the manifest's schemas; asked where these are not known to be good.
 * @returns undefined when any of them has not passed: then nothing else may be done with the package.
 */
export async function readStatics(
  { files, revision }: { files: ReadonlyMap<string, Uint8Array>; revision: string },
  { checklist, source, policy, checks, openJudge }: StaticPorts,
): Promise<StaticReading | undefined> {
  for (const check of staticChecks) checklist.start(check);
  const registries = registriesOf(source);
  const known = registries instanceof GloveboxError ? [] : registries;
  const key = staticKey(revision, known, policy);
  const cached = (await findVerdict(checks, key)) !== undefined;
  const snapshot = await gatherSnapshot(files);
  const read = await readPackageFiles(files, { registries: known, purpose: 'release' });
  const found = (check: StaticCheck): StaticFinding[] =>
    [...(snapshot.ok ? [] : snapshot.findings), ...findingsOf(read)].filter((finding) => finding.check === check);

  const bytes = [...files.values()].reduce((sum, content) => sum + content.byteLength, 0);
  const packageEnd = { ...judged(found('package'), { files: files.size, bytes }), cached };
  checklist.end('package', packageEnd);

  const manifest = read.ok ? read.pkg.manifest : read.manifest;
  const manifestEnd = await checklist.settle(async () => {
    if (manifest === undefined || cached) return { ...judged(found('manifest')), cached };
    const schemas = await openJudge(manifest).checkSchemas();
    return judged([...found('manifest'), ...locateFindings(files, schemas)]);
  });
  checklist.end('manifest', manifestEnd);

  const { dependencies = [], devDependencies = [] } = read.ok ? read.pkg : {};
  const lockfileEnd: CheckEnd =
    registries instanceof GloveboxError
      ? checklist.explain(registries)
      : {
          ...judged(found('lockfile'), { packages: dependencies.length, devPackages: devDependencies.length }),
          cached,
        };
  const passed = [packageEnd, manifestEnd, lockfileEnd].every(({ state }) => state === 'passed');
  if (passed && read.ok) return { pkg: read.pkg, lockfile: lockfileEnd, key };
  checklist.end('lockfile', lockfileEnd);
  return undefined;
}

const findingsOf = (read: ReadResult): StaticFinding[] => (read.ok ? read.warnings : read.findings);

/** The registries, or why they are not known: without them nobody can tell what a lockfile may name. */
function registriesOf(source: PackageSource): readonly string[] | GloveboxError {
  try {
    return source.registries();
  } catch (error) {
    if (error instanceof GloveboxError) return error;
    throw error;
  }
}
