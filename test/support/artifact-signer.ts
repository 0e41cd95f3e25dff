import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArtifactStore } from '@glovebox/artifacts-oci';
import type { Engine } from '@glovebox/engine';
import { makeSigner } from './artifact.ts';

/** The parts of an engine that keep artifacts with signed statements; real ones, in a directory of their own. */
export interface ArtifactSigner extends Pick<Engine, 'artifacts' | 'signer' | 'keys' | 'now'> {
  /** Of the layout. */
  dir: string;
  /** The same instance and artifacts, with a new key. */
  rotated(): ArtifactSigner;
  remove(): void;
}

export function openArtifactSigner(): ArtifactSigner {
  const home = mkdtempSync(join(tmpdir(), 'glovebox-signed-'));
  const dir = join(home, 'artifacts');
  const artifacts = createArtifactStore(dir);
  const remove = (): void => rmSync(home, { recursive: true, force: true });
  const withKey = (
    { signer, publicKeyPem }: ReturnType<typeof makeSigner>,
    retired: readonly string[],
  ): ArtifactSigner => {
    const keys = [publicKeyPem, ...retired];
    const rotated = (): ArtifactSigner => {
      const next = makeSigner();
      return withKey({ ...next, signer: { ...next.signer, instance: signer.instance } }, keys);
    };
    return { dir, artifacts, signer, keys, now: Date.now, rotated, remove };
  };
  return withKey(makeSigner(), []);
}
