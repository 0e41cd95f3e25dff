import { decodeSnapshot, reportStatement, signStatement } from '@glovebox/artifact';
import { type Digest, GloveboxError, type Json, type Release, type Report } from '@glovebox/contract';
import { openJudge } from '@glovebox/validate';
import { checkpointAudit } from '../audit/checkpoint-audit.ts';
import type { Engine } from '../engine.ts';
import { requireRuntimeImage } from '../images.ts';
import type { ImageInfo } from '../ports.ts';
import { checkFixtures } from '../validate/check-fixtures.ts';
import { Checklist } from '../validate/checklist.ts';
import { fixtureFiles } from '../validate/fixture-files.ts';
import { limitCells } from '../validate/limited-driver.ts';
import type { CheckOutcome } from '../validate/outcome.ts';
import { attestRelease } from './attest-release.ts';
import type { ChangedRelease, ReleaseChange } from './change-release.ts';
import { requireClass } from './require-class.ts';
import { refuseRevoked, resolveRelease } from './resolve-release.ts';
import { loadReleased, type TrustedArtifact } from './trusted-artifact.ts';

export interface RevalidationEvents {
  onStep?: (step: 'image' | 'fixtures', detail?: string) => void;
}

/**
 * Prove a release again in the runtime image that is here, and let it run in that one from then on: every fixture of its
 * own source, run with its own bundle, must give what it gave. Nothing is built, so its digest stays.
 *
 * Where it does not pass, nothing changes. What a crash leaves is at most a signed statement more.
 *
 * @throws GloveboxError `REFERENCE_INVALID`, `NOT_FOUND`, `RELEASE_REVOKED`, `CLASS_TOO_WEAK`, as loadReleased does; `VALIDATION_FAILED` with the
 *   findings as details; and what hosts and stores may lack.
 */
export async function revalidateRelease(
  engine: Engine,
  change: ReleaseChange,
  events: RevalidationEvents = {},
  signal?: AbortSignal,
): Promise<ChangedRelease> {
  const { project, actor } = change;
  const release = await resolveRelease(engine.releases, project, change.reference);
  refuseRevoked(release);
  const artifact = await loadReleased(engine, release);
  requireClass(release.ref, artifact.config.permissions, engine.cellClass);
  const image = await requireRuntimeImage(engine.images, (line) => events.onStep?.('image', line), signal);
  if (image.digest === release.image) return { release, changed: false };
  events.onStep?.('fixtures');
  const report = await prove(engine, release, artifact, image, signal);
  const { envelopeText } = await signStatement(reportStatement(artifact, report), engine.signer);
  await engine.artifacts.attest(artifact.digest, [envelopeText]);
  await attestRelease(engine, artifact, { ref: release.ref, image: image.digest, publishedBy: actor });
  return moveTo(engine, release, image, actor);
}

/**
 * @returns the report of the fixtures alone: nothing else was checked now.
 * @throws GloveboxError `VALIDATION_FAILED`; what the host could not do, as it is.
 */
async function prove(
  engine: Engine,
  { project, ref }: Release,
  artifact: TrustedArtifact,
  image: ImageInfo,
  signal: AbortSignal | undefined,
): Promise<Report> {
  const { id, version, revision, toolchain } = artifact.config;
  const files = decodeSnapshot(artifact.source);
  const checklist = new Checklist(engine.monotonicMs, () => undefined, signal);
  checklist.start('fixtures');
  checklist.end('fixtures', await runFixtures(engine, project, artifact, files, image, signal));
  const [checks, findings] = [checklist.results(), checklist.findings()];
  // Without a fixture, all of them pass.
  if (fixtureFiles(files).size > 0 && checks.every(({ state }) => state === 'passed')) {
    return { schema: 'glovebox.report/1', project, id, version, revision, valid: true, checks, findings, toolchain };
  }
  throw new GloveboxError('VALIDATION_FAILED', {
    message: `${ref} does not give in this runtime image what its fixtures expect.`,
    hint: 'Publish a version that does, or run it on a host with the image that it was validated in.',
    details: { findings: findings as unknown as Json },
  });
}

async function runFixtures(
  { driver, cellClass, checkTurns, now, monotonicMs, bootMs }: Engine,
  project: string,
  { config: { manifest }, bundle, bundleDigest, sourceMap }: TrustedArtifact,
  files: ReadonlyMap<string, Uint8Array>,
  image: ImageInfo,
  signal: AbortSignal | undefined,
): Promise<CheckOutcome> {
  const judge = openJudge({ input: manifest.input, config: manifest.config, output: manifest.output });
  try {
    return await checkTurns.take(async () => {
      signal?.throwIfAborted();
      return checkFixtures(
        { project, pkg: { manifest, files }, bundle, bundleDigest, sourceMap },
        {
          driver: limitCells(driver, checkTurns.cells),
          cellClass,
          image: image.digest as Digest,
          judge,
          now,
          monotonicMs,
          bootMs,
          ...(signal ? { signal } : {}),
        },
      );
    }, signal);
  } catch (error) {
    // Whatever broke while all was being stopped broke because of it.
    throw signal?.aborted ? new GloveboxError('INTERRUPTED', { cause: error }) : error;
  } finally {
    judge.close();
  }
}

async function moveTo(
  engine: Engine,
  { ref, project, id, version, digest, image: from }: Release,
  { digest: to }: ImageInfo,
  actor: string,
): Promise<ChangedRelease> {
  const atMs = engine.now();
  const outcome = await engine.releases.setImage(
    { project, id, version, from, to, atMs },
    { atMs, actor, project, action: 'release.revalidated', subject: ref, details: { digest, from, to } },
  );
  if (outcome.kind === 'changed') {
    await checkpointAudit(engine);
    return { release: outcome.release, changed: true };
  }
  const release = await resolveRelease(engine.releases, project, ref);
  refuseRevoked(release);
  if (release.image === to) return { release, changed: false };
  throw new GloveboxError('RUNTIME_IMAGE_CHANGED', {
    message: `${ref} was revalidated in yet another runtime image meanwhile.`,
    details: { validatedIn: release.image, current: to },
  });
}
