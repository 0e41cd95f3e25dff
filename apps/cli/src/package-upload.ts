import { stat } from 'node:fs/promises';
import {
  type CheckResult,
  checkIds,
  GloveboxError,
  type ReportFinding,
  type Snapshot,
  toReportFinding,
} from '@glovebox/contract';
import {
  type ReadOptions,
  readNodePackage,
  readPackageFiles,
  readSnapshotDir,
  type StaticFinding,
} from '@glovebox/validate';
import { openPackages } from './adapters.ts';
import type { Config } from './config.ts';

/**
 * A package directory as it can be uploaded, with what is odd about the directory; or why it cannot: `findings` are all that
 * reading it gave.
 */
export type PackageUpload =
  | { ok: true; id: string; files: ReadonlyMap<string, Uint8Array>; warnings: StaticFinding[] }
  | { ok: false; findings: StaticFinding[] };

/**
 * Read a package directory for upload. Links, devices and names that no upload can carry are told here, where the
 * directory is; so is a package without an id or version, which no draft could be registered under. All other faults are
 * left to the checks.
 *
 * @throws GloveboxError `NOT_FOUND`, `PACKAGE_INVALID` where there is no directory.
 */
export async function readUpload(dir: string, config: Config): Promise<PackageUpload> {
  await requireDirectory(dir);
  const options: ReadOptions = { purpose: 'release', registries: (await openPackages(config)).registries() };
  const snapshot = await readSnapshotDir(dir);
  if (!snapshot.ok) {
    const read = await readNodePackage(dir, options);
    // The directory may have changed meanwhile; what was found first stands.
    return { ok: false, findings: read.ok ? snapshot.findings : read.findings };
  }
  const read = await readPackageFiles(snapshot.files, options);
  const { id } = read.ok ? read.pkg.manifest : (read.identity ?? {});
  if (id === undefined) return { ok: false, findings: read.ok ? [] : read.findings };
  return { ok: true, id, files: snapshot.files, warnings: snapshot.warnings };
}

/** Files as the routes take them. */
export function uploadOf(files: ReadonlyMap<string, Uint8Array>): Snapshot {
  return {
    files: [...files].map(([path, bytes]) => ({ path, contentBase64: Buffer.from(bytes).toString('base64') })),
  };
}

/**
 * A path that leads nowhere is a slip of whoever typed it, and nothing that a check finds.
 *
 * @throws GloveboxError `NOT_FOUND`, `PACKAGE_INVALID`.
 */
export async function requireDirectory(dir: string): Promise<void> {
  const found = await stat(dir).catch(() => undefined);
  const place = { file: dir };
  if (found === undefined)
    throw new GloveboxError('NOT_FOUND', {
      message: `There is no directory ${dir}.`,
      hint: 'Name the directory of a node package; glovebox node new makes one.',
      place,
    });
  if (!found.isDirectory())
    throw new GloveboxError('PACKAGE_INVALID', {
      message: `${dir} is not a directory.`,
      hint: 'Name the directory of a node package.',
      place,
    });
}

/** What a validation would have told of a package that could not be uploaded: what was not begun is skipped. */
export function refusedUpload(findings: readonly StaticFinding[]): {
  checks: CheckResult[];
  findings: ReportFinding[];
} {
  const checks = checkIds.map((id): CheckResult => {
    const own = findings.filter(({ check }) => check === id);
    const failed = own.some(({ severity }) => severity === 'error');
    // What has no finding may just not have been found to be read.
    const state = failed ? 'failed' : 'skipped';
    return { id, state, durationMs: 0, cached: false, findings: own.length, facts: {} };
  });
  return { checks, findings: findings.map((finding) => toReportFinding(finding.check, finding)) };
}
