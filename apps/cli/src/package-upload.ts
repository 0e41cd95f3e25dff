import { type CheckResult, checkIds, type ReportFinding, type Snapshot } from '@glovebox/contract';
import {
  type ReadOptions,
  readNodePackage,
  readPackageFiles,
  readSnapshotDir,
  type StaticCheck,
  type StaticFinding,
  staticChecks,
} from '@glovebox/validate';
import type { Config } from './config.ts';

/** A package directory as it can be uploaded, or why it cannot: `findings` are all that reading it gave. */
export type PackageUpload =
  | { ok: true; id: string; version: string; snapshot: Snapshot }
  | { ok: false; findings: StaticFinding[] };

/**
 * Read a package directory for upload. Links, devices and names that no upload can carry are told here, where the
 * directory is; so is a package without an id or version, which no draft could be registered under. All other faults are
 * left to the checks.
 */
export async function readUpload(dir: string, config: Config): Promise<PackageUpload> {
  const options: ReadOptions = { purpose: 'release', registries: await registriesOf(config) };
  const snapshot = await readSnapshotDir(dir);
  if (!snapshot.ok) {
    const read = await readNodePackage(dir, options);
    // The directory may have changed meanwhile; what was found first stands.
    return { ok: false, findings: read.ok ? snapshot.findings : read.findings };
  }
  const read = await readPackageFiles(snapshot.files, options);
  const identity = read.ok ? { id: read.pkg.manifest.id, version: read.pkg.version } : read.identity;
  if (identity === undefined) return { ok: false, findings: read.ok ? [] : read.findings };
  const files = [...snapshot.files].map(([path, bytes]) => ({
    path,
    contentBase64: Buffer.from(bytes).toString('base64'),
  }));
  return { ok: true, id: identity.id, version: identity.version, snapshot: { files } };
}

async function registriesOf(config: Config): Promise<readonly string[]> {
  const { createPackageSource } = await import('@glovebox/registry-npm');
  const { join } = await import('node:path');
  return createPackageSource({
    cacheDir: join(config.dataDir, 'cache', 'packages'),
    ...(config.registry === undefined ? {} : { registry: config.registry }),
    ...(config.extraCa === undefined ? {} : { caFile: config.extraCa }),
  }).registries();
}

/** What a validation would have told of a package that could not be uploaded: what was not begun is skipped. */
export function refusedUpload(findings: readonly StaticFinding[]): {
  checks: CheckResult[];
  findings: ReportFinding[];
} {
  const checks = checkIds.map((id): CheckResult => {
    const own = findings.filter(({ check }) => check === id);
    const failed = own.some(({ severity }) => severity === 'error');
    const state = !isStatic(id) ? 'skipped' : failed ? 'failed' : 'passed';
    return { id, state, durationMs: 0, cached: false, findings: own.length, facts: {} };
  });
  return { checks, findings: findings.map(toReportFinding) };
}

const isStatic = (id: string): id is StaticCheck => (staticChecks as readonly string[]).includes(id);

function toReportFinding({ rule, severity, check, message, hint, place, fix }: StaticFinding): ReportFinding {
  const { file = null, path = null, line = null, column = null } = place;
  return { rule, severity, check, file, path, line, column, message, hint, ...(fix === undefined ? {} : { fix }) };
}
