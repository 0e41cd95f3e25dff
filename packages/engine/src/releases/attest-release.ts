import { releaseStatement, signStatement } from '@glovebox/artifact';
import type { Engine } from '../engine.ts';
import { isReleasedAs, type TrustedArtifact } from './trusted-artifact.ts';

/**
 * Sign that an artifact is released under a name, for an image, with the permissions of its config, and keep the statement
 * with it. By itself it releases nothing; the same again adds nothing.
 */
export async function attestRelease(
  engine: Pick<Engine, 'artifacts' | 'signer' | 'now'>,
  artifact: TrustedArtifact,
  release: { ref: string; image: string; publishedBy: string },
): Promise<void> {
  const permissions = artifact.config.permissionsDigest;
  if (isReleasedAs(artifact, { ...release, permissions })) return;
  const { instance } = engine.signer;
  const publishedAt = new Date(engine.now()).toISOString();
  const statement = releaseStatement(artifact, { instance, ...release, permissions, publishedAt });
  const { envelopeText } = await signStatement(statement, engine.signer);
  await engine.artifacts.attest(artifact.digest, [envelopeText]);
}
