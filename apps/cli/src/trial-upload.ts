import { type Finding, fromFindings, GloveboxError, type Snapshot } from '@glovebox/contract';
import { readNodePackage, readSnapshotDir } from '@glovebox/validate';
import { openPackages } from './adapters.ts';
import type { Config } from './config.ts';
import { uploadOf } from './package-upload.ts';

export interface TrialUpload {
  snapshot: Snapshot;
  /** About the directory: an upload cannot tell them. */
  warnings: Finding[];
}

/**
 * Read a package directory for a trial. Links, devices and names that no upload can carry are told here, where the directory
 * is, together with all that can be told of its files; what can be uploaded is judged by who runs it.
 *
 * @throws GloveboxError `PACKAGE_INVALID` with the findings as details.
 */
export async function readTrialUpload(dir: string, config: Config): Promise<TrialUpload> {
  const taken = await readSnapshotDir(dir);
  // A directory without a file has nothing to upload, and much to tell.
  if (taken.ok && taken.files.size > 0)
    return { snapshot: uploadOf(taken.files), warnings: taken.warnings.map(toFinding) };
  const read = await readNodePackage(dir, { registries: (await openPackages(config)).registries() });
  // The directory may have changed meanwhile; what was found first stands.
  throw packageInvalid(dir, read.ok ? (taken.ok ? [] : taken.findings) : read.findings);
}

/** What a server says of a package names the directory that it came from, where it has more to say than one thing. */
export function namingDirectory(error: unknown, dir: string): unknown {
  if (!GloveboxError.is(error, 'PACKAGE_INVALID')) return error;
  const { findings } = (error.details ?? {}) as { findings?: Finding[] };
  return findings === undefined || findings.length < 2 ? error : packageInvalid(dir, findings);
}

/** All findings as one error. */
export function packageInvalid(dir: string, findings: readonly Finding[]): GloveboxError {
  return new GloveboxError('PACKAGE_INVALID', {
    ...fromFindings(findings),
    ...(findings.length > 1 ? { message: `${dir} is not a valid node package: ${findings.length} findings.` } : {}),
  });
}

function toFinding({ rule, severity, message, hint, place, fix }: Finding): Finding {
  return { rule, severity, message, hint, place, ...(fix === undefined ? {} : { fix }) };
}
