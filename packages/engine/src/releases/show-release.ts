import {
  type ArtifactConfig,
  type CheckResult,
  checkIds,
  type ErrorData,
  GloveboxError,
  type Json,
  type Release,
} from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import { permissionWords } from './permission-words.ts';
import { resolveRelease } from './resolve-release.ts';
import { loadReleased, type TrustedArtifact } from './trusted-artifact.ts';

/** A release, and what its artifact says. */
export interface ReleaseDetails {
  release: Release;
  /** Null where the artifact or the row cannot be trusted; `problem` says why, and no run of it begins. */
  content: ReleaseContent | null;
  problem: ErrorData | null;
}

export interface ReleaseContent
  extends Pick<ArtifactConfig, 'name' | 'license' | 'toolchain' | 'dependencies'>,
    Pick<ArtifactConfig['manifest'], 'title' | 'description' | 'category' | 'input' | 'config' | 'output'> {
  bundleDigest: string;
  permissions: { digest: string; words: string[]; json: Json };
  report: { checks: CheckResult[]; warnings: number; notices: number };
  /** All of them verified. */
  attestations: { kind: string; keyId: string; digest: string }[];
}

/**
 * Tell a release in whatever state it is; nothing is run. Its artifact and its row are verified as they are before a run.
 *
 * @throws GloveboxError `REFERENCE_INVALID`, `NOT_FOUND`, and what stores may lack.
 */
export async function showRelease(
  engine: Pick<Engine, 'releases' | 'artifacts' | 'audit' | 'keys'>,
  query: { project: string; reference: string },
): Promise<ReleaseDetails> {
  const release = await resolveRelease(engine.releases, query.project, query.reference);
  try {
    return { release, content: contentOf(release, await loadReleased(engine, release)), problem: null };
  } catch (error) {
    if (!GloveboxError.is(error) || !/^(ARTIFACT|ATTESTATION|AUDIT|KEY)_|^RELEASE_REVOKED$/.test(error.code))
      throw error;
    return { release, content: null, problem: error.toData() };
  }
}

function contentOf(release: Release, { config, bundleDigest, attestations }: TrustedArtifact): ReleaseContent {
  const { name, license, toolchain, dependencies, manifest, permissions: json, permissionsDigest: digest } = config;
  const { title, description, category, input, output } = manifest;
  return {
    name,
    license,
    toolchain,
    dependencies,
    title,
    description,
    category,
    input,
    config: manifest.config,
    output,
    bundleDigest,
    permissions: { digest, words: permissionWords(manifest), json },
    report: summaryOf(release.project, attestations),
    attestations: attestations.map(({ kind, keyId, digest: envelope }) => ({ kind, keyId, digest: envelope })),
  };
}

/** What was found of each check when it was last done in this project: a revalidation does not do them all. */
function summaryOf(project: string, attestations: TrustedArtifact['attestations']): ReleaseContent['report'] {
  const reports = attestations.flatMap((attestation) =>
    attestation.kind === 'report' && attestation.predicate.project === project ? [attestation.predicate] : [],
  );
  const latest = checkIds.flatMap((id) => {
    const report = reports.findLast(({ checks }) => checks.some((check) => check.id === id));
    const result = report?.checks.find((check) => check.id === id);
    return report === undefined || result === undefined ? [] : [{ report, result }];
  });
  const count = (severity: string): number =>
    latest.flatMap(({ report, result }) =>
      report.findings.filter((finding) => finding.check === result.id && finding.severity === severity),
    ).length;
  return { checks: latest.map(({ result }) => result), warnings: count('warning'), notices: count('notice') };
}
