import { Findings } from '../findings.ts';
import { cellPlatform } from '../lockfile/platform.ts';
import type { LockedPackage, ReadOptions, ReadResult } from '../node-package.ts';
import { requiredFiles } from './limits.ts';
import { manifestFile, readManifest } from './manifest.ts';
import { type PackageJson, packageJsonFile, readPackageJson } from './package-json.ts';
import { packageRevision } from './revision.ts';
import { readTree } from './tree.ts';

const lockfileName = 'package-lock.json';
/** Lockfiles of other tools, and npm's second spelling: two lockfiles are two truths. */
const foreignLockfiles = ['npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb'];
/** Files that would tell package managers where to fetch from, and what to run. */
const managerSettings = ['.npmrc', '.yarnrc', '.yarnrc.yml', '.pnpmfile.cjs', 'pnpm-workspace.yaml', 'bunfig.toml'];

/** See the function of this name in the package's index. */
export async function readNodePackage(dir: string, options: ReadOptions): Promise<ReadResult> {
  const findings = new Findings();
  const { complete, files, seen, ignored } = readTree(dir, findings);

  for (const file of requiredFiles) {
    if (complete && !seen.has(file)) findings.error('PACKAGE_FILE_MISSING', `${file} is missing`, { file });
  }
  warnOfUnused(files, ignored, findings);

  const packageJson = files.get(packageJsonFile);
  const { pkg, unscopedName } =
    packageJson === undefined
      ? { pkg: undefined, unscopedName: undefined }
      : await readPackageJson(packageJson, findings);
  const dependencies = pkg === undefined ? [] : await readDependencies(files, pkg, options, findings);
  const nodeJson = files.get(manifestFile);
  const manifest = nodeJson === undefined ? undefined : readManifest(nodeJson, unscopedName, findings);

  if (findings.hasErrors || manifest === undefined || pkg === undefined) return { ok: false, findings: findings.all() };
  const { name, version, license } = pkg;
  return {
    ok: true,
    pkg: { manifest, name, version, license, files, revision: packageRevision(files), dependencies },
    warnings: findings.all(),
  };
}

async function readDependencies(
  files: ReadonlyMap<string, Uint8Array>,
  pkg: PackageJson,
  options: ReadOptions,
  findings: Findings,
): Promise<LockedPackage[]> {
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
    return [];
  }
  const { readLockfile } = await import('../lockfile/lockfile.ts');
  const registries = options.registries ?? [];
  return readLockfile(bytes, pkg, { platform: options.platform ?? cellPlatform, registries }, findings);
}

function warnOfUnused(files: ReadonlyMap<string, Uint8Array>, ignored: readonly string[], findings: Findings): void {
  if (ignored.includes('dist')) {
    findings.warning(
      'PACKAGE_INVALID',
      'dist is not used: the node is built from src',
      { file: 'dist' },
      'Nothing to do.',
    );
  }
  for (const file of managerSettings) {
    if (files.has(file)) findings.warning('PACKAGE_INVALID', `${file} is ignored`, { file }, 'Remove it.');
  }
}
