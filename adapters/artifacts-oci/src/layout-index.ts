import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readDescribed, readIndex, referrersTag, sha256Of } from '@glovebox/artifact';
import {
  artifactLimits,
  artifactMediaTypes,
  type Descriptor,
  GloveboxError,
  type OciIndex,
  ociManifestSchema,
  refNameAnnotation,
} from '@glovebox/contract';
import { type LayoutPaths, readBlob, readFileUpTo, syncDirectory, writeBlobs, writeWhole } from './blob-files.ts';
import { isMissing, isOtherKind } from './disk-errors.ts';
import { describeArtifact, emptyIndex, encodeIndex, listReferrers, type Referrer } from './referrer.ts';

/** index.json of a layout with some hundred thousand artifacts. */
const maxIndexBytes = 128 * 1024 * 1024;

/** What index.json says, or what it should. */
interface FoundIndex {
  index: OciIndex;
  /** Whether that stands on the disk; false where it was made again from the blobs, or there is nothing yet. */
  isWritten: boolean;
}

/**
 * The index. Where index.json is damaged, or gone although there are blobs, it is made again from the blobs; names other
 * than digests are lost then. Nothing is written.
 *
 * @throws what the file system says, where it cannot tell: a file that cannot be read is not taken for a damaged one.
 */
export async function readLayoutIndex(paths: LayoutPaths): Promise<FoundIndex> {
  const bytes = await readFileUpTo(paths.index, maxIndexBytes).catch((error: unknown) => {
    if (isMissing(error) || isOtherKind(error)) return undefined;
    throw error;
  });
  const index = bytes && readIndex(bytes, maxIndexBytes);
  return index === undefined ? { index: await rebuildIndex(paths), isWritten: false } : { index, isWritten: true };
}

/** Change the index. Only in turn. @param change gives the same object where there is nothing to change. */
export async function updateLayoutIndex(
  paths: LayoutPaths,
  change: (index: OciIndex) => Promise<OciIndex> | OciIndex,
): Promise<void> {
  const found = await readLayoutIndex(paths);
  const next = await change(found.index);
  if (next === found.index && found.isWritten) return;
  await writeWhole(paths, paths.index, encodeIndex(next));
  await syncDirectory(paths.dir);
}

/** Reads the index once for as long as the file is the same: it is replaced, never written into. */
export function createIndexReader(paths: LayoutPaths): () => Promise<OciIndex> {
  let known: { identity: string; index: OciIndex } | undefined;
  return async () => {
    const found = await stat(paths.index, { bigint: true }).catch(() => undefined);
    const identity = found && [found.dev, found.ino, found.mtimeNs, found.size].join();
    if (identity !== undefined && known?.identity === identity) return known.index;
    const { index } = await readLayoutIndex(paths);
    // By what it was before: a file that came meanwhile is read once more, never missed.
    known = identity === undefined ? undefined : { identity, index };
    return index;
  };
}

/** The artifact's own descriptor, under whatever name it comes first. */
export function findArtifact(index: OciIndex, digest: string): Descriptor | undefined {
  return index.manifests.find(
    (descriptor) =>
      descriptor.digest === digest &&
      descriptor.mediaType === artifactMediaTypes.manifest &&
      descriptor.artifactType === artifactMediaTypes.artifact,
  );
}

/**
 * The index with these referrers of an artifact beside those that it has, in which case they keep their place. The list
 * itself is a blob, and is written first.
 *
 * @throws GloveboxError `ATTESTATIONS_LIMIT` beyond artifactLimits.attestations.
 */
export async function withReferrers(
  paths: LayoutPaths,
  index: OciIndex,
  digest: string,
  added: readonly Referrer[],
): Promise<OciIndex> {
  if (added.length === 0) return index;
  const tag = referrersTag(digest);
  const isList = (descriptor: Descriptor): boolean => descriptor.annotations?.[refNameAnnotation] === tag;
  const old = index.manifests.find(isList);
  const given = added.map(({ descriptor }) => descriptor);
  const before = old === undefined ? await strays(paths, index, digest) : await readList(paths, old, digest, given);
  const all = new Map([...before, ...given].map((descriptor) => [descriptor.digest, descriptor]));
  // Here, not when it is read: with one more, the artifact would be refused wherever it is loaded.
  if (all.size > artifactLimits.attestations) {
    throw new GloveboxError('ATTESTATIONS_LIMIT', {
      message: `${digest} has ${before.length} attestations and takes no more than ${artifactLimits.attestations}.`,
      hint: 'Raise the version in package.json: another content is another artifact.',
    });
  }
  const list = listReferrers(digest, [...all.values()]);
  await writeBlobs(paths, new Map([[list.descriptor.digest, list.bytes]]));
  if (list.descriptor.digest === old?.digest) return index;
  const others = index.manifests.filter((descriptor) => !isList(descriptor) && !all.has(descriptor.digest));
  return { ...index, manifests: [...others, list.descriptor] };
}

/** Attestations that the index names by themselves, as it does when it was made again. */
async function strays(paths: LayoutPaths, index: OciIndex, digest: string): Promise<Descriptor[]> {
  const some = index.manifests.some(({ artifactType }) => artifactType === artifactMediaTypes.attestation);
  return some ? ((await scanManifests(paths)).referrers.get(digest) ?? []) : [];
}

/** @param likely what it says if all of it is put again: a damaged list is mended by that, in its order. */
async function readList(
  paths: LayoutPaths,
  descriptor: Descriptor,
  digest: string,
  likely: readonly Descriptor[],
): Promise<readonly Descriptor[]> {
  if (listReferrers(digest, likely).descriptor.digest === descriptor.digest) return likely;
  const { indexBytes } = artifactLimits;
  const bytes = await readDescribed(descriptor, indexBytes, readBlob(paths)).catch(() => undefined);
  const list = bytes && readIndex(bytes, indexBytes);
  return list?.manifests ?? (await scanManifests(paths)).referrers.get(digest) ?? [];
}

/** With every attestation by itself; the lists are made when one is added. */
async function rebuildIndex(paths: LayoutPaths): Promise<OciIndex> {
  const { artifacts, referrers } = await scanManifests(paths);
  return { ...emptyIndex, manifests: [...artifacts, ...[...referrers.values()].flat()] };
}

/** Every manifest among the blobs, oldest first. A blob that does not have its digest counts for nothing. */
async function scanManifests(
  paths: LayoutPaths,
): Promise<{ artifacts: Descriptor[]; referrers: Map<string, Descriptor[]> }> {
  const names = await readdir(paths.blobs).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const artifacts: Descriptor[] = [];
  const referrers = new Map<string, Descriptor[]>();
  for (const { name } of await byAge(paths, names)) {
    const bytes = await readFileUpTo(join(paths.blobs, name), artifactLimits.manifestBytes).catch(() => undefined);
    if (bytes === undefined || sha256Of(bytes) !== `sha256:${name}`) continue;
    const manifest = readManifest(bytes);
    if (manifest?.artifactType === artifactMediaTypes.artifact)
      artifacts.push(describeArtifact(bytes, `sha256:${name}`));
    if (manifest?.artifactType !== artifactMediaTypes.attestation || manifest.subject === undefined) continue;
    const { mediaType, digest, size, artifactType } = {
      ...describeArtifact(bytes, ''),
      artifactType: artifactMediaTypes.attestation,
    };
    const list = referrers.get(manifest.subject.digest) ?? [];
    list.push({ mediaType, digest, size, artifactType });
    referrers.set(manifest.subject.digest, list);
  }
  return { artifacts, referrers };
}

async function byAge(paths: LayoutPaths, names: readonly string[]): Promise<{ name: string; mtimeNs: bigint }[]> {
  const aged: { name: string; mtimeNs: bigint }[] = [];
  for (const name of names) {
    const found = await stat(join(paths.blobs, name), { bigint: true }).catch(() => undefined);
    if (found !== undefined) aged.push({ name, mtimeNs: found.mtimeNs });
  }
  return aged.sort((a, b) => (a.mtimeNs < b.mtimeNs ? -1 : a.mtimeNs > b.mtimeNs ? 1 : a.name < b.name ? -1 : 1));
}

function readManifest(bytes: Uint8Array): ReturnType<typeof ociManifestSchema.parse> | undefined {
  try {
    const checked = ociManifestSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8')));
    return checked.success ? checked.data : undefined;
  } catch {
    return undefined;
  }
}
