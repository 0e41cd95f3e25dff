import { GloveboxError, type Release } from '@glovebox/contract';
import { openJudge } from '@glovebox/validate';
import type { Engine } from './engine.ts';
import { requireRuntimeImage } from './images.ts';
import { performRun, type RunEvents, type RunResult } from './perform-run.ts';
import type { ImageInfo } from './ports.ts';
import { requireClass } from './releases/require-class.ts';
import { refuseRevoked, resolveRelease } from './releases/resolve-release.ts';
import { loadReleased } from './releases/trusted-artifact.ts';
import { type RunValues, requireFitting, requireJson } from './run-values.ts';

export interface ReleaseRunRequest extends RunValues {
  project: string;
  actor: string;
  /** `[project/]id[@version | @sha256:…]`. */
  reference: string;
}

export interface ReleaseRunEvents extends RunEvents {
  /** The release runs, and its owner advises against it: see its reason. */
  onDeprecated?: (release: Release) => void;
}

export interface ReleaseRunResult extends RunResult {
  release: Release;
}

/**
 * Run a release once, in a fresh cell, from its artifact alone. Everything of the artifact is verified before each run:
 * the digest of each blob, the signatures of its attestations, that they name this release with this image and these
 * permissions, and that by the audit chain it was released and not revoked.
 *
 * Nothing is recorded, and no cell boots, unless the release may run here and input and config fit.
 *
 * @throws GloveboxError `INPUT_NOT_JSON`, `REFERENCE_INVALID`, `NOT_FOUND`, `RELEASE_REVOKED`, `RUNTIME_IMAGE_CHANGED`,
 *   `CLASS_TOO_WEAK`, `INPUT_INVALID`, `CONFIG_VALUE_INVALID`, as loadReleased does, and what hosts and stores may lack. What the node itself
 *   does wrong is in the result.
 */
export async function runRelease(
  engine: Engine,
  request: ReleaseRunRequest,
  events: ReleaseRunEvents = {},
  signal?: AbortSignal,
): Promise<ReleaseRunResult> {
  const acceptedAtMs = engine.monotonicMs();
  const { project, actor, inputText, configText } = request;
  requireJson(request);
  events.onStep?.('resolve');
  const release = await resolveRelease(engine.releases, project, request.reference);
  refuseRevoked(release);
  if (release.state === 'deprecated') events.onDeprecated?.(release);
  const image = await requireRuntimeImage(engine.images, (line) => events.onStep?.('image', line), signal);
  requireSameImage(release, image);
  const { config, bundle, bundleDigest, sourceMap } = await loadReleased(engine, release);
  requireClass(release.ref, config.permissions, engine.cellClass);
  const { manifest, version, revision } = config;
  const judge = openJudge({ input: manifest.input, config: manifest.config, output: manifest.output });
  try {
    events.onStep?.('check');
    await requireFitting(judge, request);
    const result = await performRun(
      engine,
      {
        project,
        actor,
        mode: 'release',
        release: { ref: release.ref, digest: release.digest },
        manifest,
        version,
        revision,
        bundle,
        bundleDigest,
        sourceMap,
        image: release.image,
        judge,
        inputText,
        configText,
        acceptedAtMs,
      },
      events,
      signal,
    );
    return { ...result, release };
  } finally {
    judge.close();
  }
}

/** An image of another digest runs nothing that was not validated in it. */
function requireSameImage(release: Release, image: ImageInfo): void {
  if (image.digest === release.image) return;
  throw new GloveboxError('RUNTIME_IMAGE_CHANGED', {
    message: `${release.ref} was validated in another runtime image than the one that is here.`,
    details: { validatedIn: release.image, current: image.digest },
  });
}
