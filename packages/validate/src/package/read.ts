import { managerSettings } from '@glovebox/contract/build-limits';
import { Findings } from '../findings.ts';
import type { Locked } from '../lockfile/lockfile.ts';
import { cellPlatform } from '../lockfile/platform.ts';
import type { ReadOptions, ReadResult, SnapshotResult } from '../node-package.ts';
import { identify } from './identity.ts';
import { requiredFiles } from './limits.ts';
import { tellLookAlikes } from './look-alikes.ts';
import { manifestFile, readManifest } from './manifest.ts';
import { type PackageJson, packageJsonFile, readPackageJson } from './package-json.ts';
import { tellRanges } from './pins.ts';
import { packageRevision } from './revision.ts';
import { readTree } from './tree.ts';
import { tellTypeSources } from './type-sources.ts';

const lockfileName = 'package-lock.json';
/** Lockfiles of other tools, and npm's second spelling: two lockfiles are two truths. */
const foreignLockfiles = ['npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb'];

const isFixture = (path: string): boolean => /^fixtures\/[^/]+(?<!\.cassette)\.json$/.test(path);

/** See the functions of these names in the package's index. */
export async function readNodePackage(dir: string, options: ReadOptions): Promise<ReadResult> {
  const findings = new Findings();
  const { complete, files, seen, ignored } = readTree(dir, findings);
  tellIgnored(ignored, findings);
  // What was refused is there, and has a finding; of a walk that was given up nobody knows what is missing.
  return readFiles(files, complete ? seen : undefined, options, findings);
}

export function readSnapshotDir(dir: string): SnapshotResult {
  const findings = new Findings();
  const { files, ignored } = readTree(dir, findings);
  tellIgnored(ignored, findings);
  if (findings.hasErrors) return { ok: false, findings: findings.all() };
  return { ok: true, files, warnings: findings.all() };
}

export function readPackageFiles(files: ReadonlyMap<string, Uint8Array>, options: ReadOptions): Promise<ReadResult> {
  return readFiles(files, new Set(files.keys()), options, new Findings());
}

/** @param seen every path that is there; undefined where that is not known. */
async function readFiles(
  files: ReadonlyMap<string, Uint8Array>,
  seen: ReadonlySet<string> | undefined,
  options: ReadOptions,
  findings: Findings,
): Promise<ReadResult> {
  const { purpose = 'trial' } = options;
  if (seen !== undefined) tellMissing(seen, purpose, findings);
  for (const file of managerSettings) {
    if (files.has(file)) findings.warning('PACKAGE_INVALID', `${file} is ignored`, { file }, 'Remove it.');
  }

  tellTypeSources(files, findings);
  const packageJson = files.get(packageJsonFile);
  const { pkg, unscopedName } =
    packageJson === undefined
      ? { pkg: undefined, unscopedName: undefined }
      : await readPackageJson(packageJson, purpose, findings);
  const locked = pkg === undefined ? undefined : await readDependencies(files, pkg, options, findings);
  if (pkg !== undefined) {
    await tellRanges(files, pkg, locked?.versions ?? new Map(), purpose, findings);
    tellLookAlikes(files, pkg, findings);
  }
  const nodeJson = files.get(manifestFile);
  const manifest = nodeJson === undefined ? undefined : readManifest(nodeJson, unscopedName, findings);

  if (findings.hasErrors || manifest === undefined || pkg === undefined)
    return { ok: false, findings: findings.all(), identity: identify(files), manifest };
  const { name, version, license } = pkg;
  const { dependencies = [], devDependencies = [] } = locked ?? {};
  const revision = packageRevision(files);
  return {
    ok: true,
    pkg: { manifest, name, version, license, files, revision, dependencies, devDependencies },
    warnings: findings.all(),
  };
}

function tellMissing(seen: ReadonlySet<string>, purpose: 'trial' | 'release', findings: Findings): void {
  for (const file of requiredFiles) {
    if (!seen.has(file)) findings.error('PACKAGE_FILE_MISSING', `${file} is missing`, { file });
  }
  if (purpose === 'release' && ![...seen].some(isFixture))
    findings.error('FIXTURE_MISSING', 'there is no fixtures/<name>.json', { file: 'fixtures' });
}

async function readDependencies(
  files: ReadonlyMap<string, Uint8Array>,
  pkg: PackageJson,
  options: ReadOptions,
  findings: Findings,
): Promise<Locked | undefined> {
  const foreign = foreignLockfiles.filter((file) => files.has(file));
  for (const file of foreign) {
    const message = `${file} is not used; dependencies come from ${lockfileName}`;
    findings.error('LOCKFILE_INVALID', message, { file }, `Remove it, and make ${lockfileName} with npm.`);
  }
  const bytes = files.get(lockfileName);
  if (bytes === undefined) {
    if (pkg.dependencies.size + pkg.optionalDependencies.size > 0) {
      findings.error('LOCKFILE_MISSING', `package.json has dependencies but there is no ${lockfileName}`, {
        file: lockfileName,
      });
    }
    return undefined;
  }
  const { readLockfile } = await import('../lockfile/lockfile.ts');
  const registries = options.registries ?? [];
  return readLockfile(bytes, pkg, { platform: options.platform ?? cellPlatform, registries }, findings);
}

function tellIgnored(ignored: readonly string[], findings: Findings): void {
  if (!ignored.includes('dist')) return;
  const message = 'dist is not used: the node is built from src';
  findings.warning('PACKAGE_INVALID', message, { file: 'dist' }, 'Nothing to do.');
}
