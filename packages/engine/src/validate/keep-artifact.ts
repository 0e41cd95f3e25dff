import {
  composeArtifact,
  composeSbom,
  provenanceStatement,
  reportStatement,
  sbomStatement,
  signStatement,
} from '@glovebox/artifact';
import { type Digest, GloveboxError, type Report } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import type { PassedValidation } from '../ports.ts';
import type { CheckedPackage } from './run-checks.ts';

/** How a validation that passed came about. */
export interface PassedChecks extends CheckedPackage {
  project: string;
  report: Report;
  /** The runtime image that fixtures ran in. */
  image: Digest;
  actor: string;
  invocation: string;
  correlation: string;
  startedAtMs: number;
}

/**
 * Compose the artifact of a package that has passed all checks, and store it with signed statements of how it came about:
 * provenance, report and SBOM. Its digest covers content and toolchain text only, so it is the same wherever and by
 * whomever the same bytes are validated; who and when is in the statements. Where nothing was done anew and the artifact is
 * there, there is nothing new to state.
 */
export async function keepArtifact(engine: Engine, passed: PassedChecks): Promise<PassedValidation> {
  const { pkg, built, report, project, image } = passed;
  const { manifest, name, version, license, revision, files, dependencies } = pkg;
  const { bundle, sourceMap, metafile } = built;
  const { toolchain } = report;
  const { digest, config, ...stored } = composeArtifact({
    manifest,
    name,
    version,
    license,
    revision,
    files,
    dependencies,
    bundle,
    sourceMap,
    toolchain,
  });
  const result = { artifact: digest, image, permissions: config.permissionsDigest };
  if (report.checks.every(({ cached }) => cached) && (await isKept(engine, digest))) return result;
  const artifact = { digest, config };
  const statements = [
    provenanceStatement(artifact, {
      instance: engine.signer.instance,
      project,
      image,
      invocationId: passed.invocation,
      startedAtMs: passed.startedAtMs,
      finishedAtMs: engine.now(),
      creator: passed.actor,
      correlationId: passed.correlation,
    }),
    reportStatement(artifact, report),
    sbomStatement(artifact, composeSbom(config, metafile)),
  ];
  const signed = await Promise.all(statements.map((statement) => signStatement(statement, engine.signer)));
  await engine.artifacts.put({ digest, ...stored, attestations: signed.map(({ envelopeText }) => envelopeText) });
  return result;
}

/** Whole, and with what was stated of it. */
async function isKept(engine: Engine, digest: string): Promise<boolean> {
  try {
    await engine.artifacts.load(digest);
    return (await engine.artifacts.attestations(digest)).length >= 3;
  } catch (error) {
    // Not there, or damaged: it is written again.
    if (error instanceof GloveboxError) return false;
    throw error;
  }
}
