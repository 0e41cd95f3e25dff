import { loadArtifact, readAttestations } from '@glovebox/artifact';
import { type Descriptor, GloveboxError, idPatterns, refNameAnnotation } from '@glovebox/contract';
import type { ArtifactStore } from '@glovebox/engine';
import { layoutPaths, prepareLayout, readBlob, writeBlobs } from './blob-files.ts';
import { onDisk } from './disk-errors.ts';
import { exportLayout } from './export-layout.ts';
import { createIndexReader, findArtifact, updateLayoutIndex, withReferrers } from './layout-index.ts';
import { asReferrer, describeArtifact } from './referrer.ts';
import { inTurn } from './turn.ts';

/**
 * Artifacts as an OCI image layout, files of mode 0600 in directories of mode 0700. Several processes may use one
 * directory.
 *
 * Blobs are written beside, synced and renamed; an artifact is there once index.json, replaced as a whole, names it. So a
 * kill or a power cut leaves an artifact with all of its attestations, or none of it.
 */
export function createArtifactStore(dir: string): ArtifactStore {
  const paths = layoutPaths(dir);
  const currentIndex = createIndexReader(paths);
  const read = readBlob(paths);

  async function requireArtifact(digest: string): Promise<Descriptor> {
    const found = idPatterns.digest.test(digest) ? findArtifact(await currentIndex(), digest) : undefined;
    if (found !== undefined) return found;
    throw new GloveboxError('NOT_FOUND', { message: `There is no artifact ${digest.slice(0, 80)}.` });
  }

  async function attestations(digest: string): Promise<string[]> {
    await requireArtifact(digest);
    const envelopes = await readAttestations(digest, await currentIndex(), read);
    return envelopes.map((bytes) => Buffer.from(bytes).toString('utf8'));
  }

  const changeIndex = (change: Parameters<typeof updateLayoutIndex>[1]): Promise<void> =>
    inTurn(paths.claims, () => updateLayoutIndex(paths, change));

  async function addReferrers(subject: Descriptor, envelopeTexts: readonly string[]): Promise<Descriptor[]> {
    const referrers = envelopeTexts.map((text) => asReferrer(subject, text));
    await writeBlobs(paths, new Map(referrers.flatMap(({ blobs }) => [...blobs])));
    return referrers.map(({ descriptor }) => descriptor);
  }

  return {
    async put(artifact) {
      // What does not load is not kept: a defect shows here, not when it is to run.
      const given = new Map([...artifact.blobs, [artifact.digest, artifact.manifest]]);
      await loadArtifact(artifact.digest, async (digest) => given.get(digest));
      await onDisk(dir, async () => {
        await prepareLayout(paths);
        const subject = describeArtifact(artifact.manifest, artifact.digest);
        const added = await addReferrers(subject, artifact.attestations);
        await writeBlobs(paths, artifact.blobs);
        // Last: where the index is made again from the blobs, a manifest stands for all that it came with.
        await writeBlobs(paths, new Map([[artifact.digest, artifact.manifest]]));
        await changeIndex((index) => {
          const isThere = findArtifact(index, artifact.digest) !== undefined;
          const named = isThere ? index : { ...index, manifests: [...index.manifests, subject] };
          return withReferrers(paths, named, artifact.digest, added);
        });
      });
    },

    async load(digest) {
      await requireArtifact(digest);
      const loaded = await loadArtifact(digest, read).catch((error: unknown) => {
        // The index names it, so it is not absent but lost.
        throw GloveboxError.is(error, 'NOT_FOUND') ? lost(digest) : error;
      });
      return loaded;
    },

    attestations,

    async attest(digest, envelopeTexts) {
      const subject = await requireArtifact(digest);
      await onDisk(dir, async () => {
        await prepareLayout(paths);
        const added = await addReferrers(subject, envelopeTexts);
        await changeIndex((index) => withReferrers(paths, index, digest, added));
      });
    },

    async name(digest, refName) {
      // Under such names the layout itself finds things.
      if (/^sha256[:-]/.test(refName)) throw new GloveboxError('INTERNAL', { message: 'that name is not free' });
      const { mediaType, size, artifactType } = await requireArtifact(digest);
      const descriptor = { mediaType, digest, size, artifactType, annotations: { [refNameAnnotation]: refName } };
      await onDisk(dir, async () => {
        await prepareLayout(paths);
        await changeIndex((index) => {
          const others = index.manifests.filter(({ annotations }) => annotations?.[refNameAnnotation] !== refName);
          return { ...index, manifests: [...others, descriptor] };
        });
      });
    },

    async *exportLayout(digest, refName = digest) {
      yield* exportLayout(digest, await attestations(digest), refName, read);
    },
  };
}

const lost = (digest: string): GloveboxError =>
  new GloveboxError('ARTIFACT_CORRUPTED', { message: `The manifest ${digest} is missing.`, details: { blob: digest } });
