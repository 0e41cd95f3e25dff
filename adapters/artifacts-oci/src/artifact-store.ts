import { loadArtifact, type ReadBlob, readAttestations } from '@glovebox/artifact';
import { type Descriptor, GloveboxError, type OciIndex, refNameAnnotation } from '@glovebox/contract';
import type { ArtifactStore } from '@glovebox/engine';
import { layoutPaths, prepareLayout, readBlob, writeBlobs } from './blob-files.ts';
import { onDisk } from './disk-errors.ts';
import { exportLayout } from './export-layout.ts';
import { createIndexReader, findArtifact, updateLayoutIndex, withReferrers } from './layout-index.ts';
import { asReferrer, describeArtifact, type Referrer } from './referrer.ts';
import { openTurns } from './turn.ts';

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
  const inTurn = openTurns(paths.claims);
  const readAny = readBlob(paths);
  /** Of what the index leads to: it is not absent but lost. */
  const read: ReadBlob = async (digest, maxBytes) => {
    const bytes = await readAny(digest, maxBytes);
    if (bytes !== undefined) return bytes;
    throw new GloveboxError('ARTIFACT_CORRUPTED', {
      message: `The blob ${digest} is missing.`,
      details: { blob: digest },
    });
  };

  async function requireArtifact(digest: string): Promise<{ descriptor: Descriptor; index: OciIndex }> {
    const index = await onDisk(dir, currentIndex);
    const descriptor = findArtifact(index, digest);
    if (descriptor !== undefined) return { descriptor, index };
    throw new GloveboxError('NOT_FOUND', { message: `There is no artifact ${digest.slice(0, 80)}.` });
  }

  async function attestations(digest: string): Promise<string[]> {
    const { descriptor, index } = await requireArtifact(digest);
    const texts: string[] = [];
    for await (const bytes of readAttestations(descriptor, index, read))
      texts.push(Buffer.from(bytes).toString('utf8'));
    return texts;
  }

  const changeIndex = (change: Parameters<typeof updateLayoutIndex>[1]): Promise<void> =>
    inTurn(() => updateLayoutIndex(paths, change));

  return {
    async put(artifact) {
      // What does not load is not kept: a defect shows here, not when it is to run.
      const given = new Map([...artifact.blobs, [artifact.digest, artifact.manifest]]);
      await loadArtifact(artifact.digest, async (digest) => given.get(digest));
      await onDisk(dir, async () => {
        await prepareLayout(paths);
        const subject = describeArtifact(artifact.manifest, artifact.digest);
        const referrers = artifact.attestations.map((text) => asReferrer(subject, text));
        await writeBlobs(paths, new Map([...artifact.blobs, ...blobsOf(referrers)]));
        // Last: where the index is made again from the blobs, a manifest stands for all that it came with.
        await writeBlobs(paths, new Map([[artifact.digest, artifact.manifest]]));
        await changeIndex((index) => {
          const isThere = findArtifact(index, artifact.digest) !== undefined;
          const named = isThere ? index : { ...index, manifests: [...index.manifests, subject] };
          return withReferrers(paths, named, artifact.digest, referrers);
        });
      });
    },

    async load(digest) {
      await requireArtifact(digest);
      return loadArtifact(digest, read);
    },

    attestations,

    async attest(digest, envelopeTexts) {
      const { descriptor } = await requireArtifact(digest);
      const referrers = envelopeTexts.map((text) => asReferrer(descriptor, text));
      await onDisk(dir, async () => {
        await prepareLayout(paths);
        await writeBlobs(paths, blobsOf(referrers));
        await changeIndex((index) => withReferrers(paths, index, digest, referrers));
      });
    },

    async name(digest, refName) {
      // Under such names the layout itself finds things.
      if (/^sha256[:-]/.test(refName)) throw new GloveboxError('INTERNAL', { message: 'that name is not free' });
      const { descriptor } = await requireArtifact(digest);
      const named = { ...descriptor, annotations: { [refNameAnnotation]: refName } };
      await onDisk(dir, async () => {
        await prepareLayout(paths);
        await changeIndex((index) => {
          const isNamed = ({ annotations }: Descriptor): boolean => annotations?.[refNameAnnotation] === refName;
          const [holder, ...more] = index.manifests.filter(isNamed);
          if (holder?.digest === digest && more.length === 0) return index;
          const others = index.manifests.filter((each) => !isNamed(each));
          return { ...index, manifests: [...others, named] };
        });
      });
    },

    async *exportLayout(digest, refName = digest) {
      yield* exportLayout(digest, await attestations(digest), refName, read);
    },
  };
}

const blobsOf = (referrers: readonly Referrer[]): Map<string, Uint8Array> =>
  new Map(referrers.flatMap(({ blobs }) => [...blobs]));
