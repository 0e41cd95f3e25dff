import {
  composeArtifact,
  composeSbom,
  maxEnvelopeBytes,
  provenanceStatement,
  reportStatement,
  sbomStatement,
  signStatement,
} from '@glovebox/artifact';
import { type Digest, GloveboxError, predicateTypes, type Report, type Statement } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import type { PassedValidation } from '../ports.ts';
import { missingStatements } from './missing-statements.ts';
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
 * whomever the same bytes are validated; who and when is in the statements. What the artifact has of this project, image
 * and key is not stated again.
 *
 * @throws GloveboxError `ATTESTATIONS_LIMIT`, with nothing kept; `DISK_FULL`.
 */
export async function keepArtifact(
  engine: Pick<Engine, 'artifacts' | 'signer' | 'keys' | 'now'>,
  passed: PassedChecks,
): Promise<PassedValidation> {
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
      publishedAtMs: passed.publishedAtMs,
    }),
    reportStatement(artifact, report),
    sbomStatement(artifact, composeSbom(config, metafile)),
  ];
  const missing = await missingStatements(engine, artifact, statements);
  if (missing.length === 0) return result;
  missing.forEach(requireFits);
  const signed = await Promise.all(missing.map((statement) => signStatement(statement, engine.signer)));
  await engine.artifacts.put({ digest, ...stored, attestations: signed.map(({ envelopeText }) => envelopeText) });
  return result;
}

/** Base64 takes a third more, and what is around it a little. */
const maxPredicateBytes = (maxEnvelopeBytes * 3) / 4 - 4096;

/** What passes every check may still have a graph of imports that no reader takes: that is the package's, and no defect. */
function requireFits({ predicateType, predicate }: Statement): void {
  const bytes = Buffer.byteLength(JSON.stringify(predicate));
  if (bytes <= maxPredicateBytes) return;
  const what = predicateType === predicateTypes.sbom ? 'SBOM' : predicateType;
  throw new GloveboxError('ATTESTATIONS_LIMIT', {
    message: `The ${what} of the artifact has ${bytes} bytes, more than fit into an attestation.`,
    hint: 'Drop dependencies.',
  });
}
