import { loadArtifact, type ReadBlob, tarEnd, tarHeader, tarPadding } from '@glovebox/artifact';
import { artifactLimits, artifactMediaTypes, GloveboxError } from '@glovebox/contract';
import { asReferrer, describeArtifact, encodeIndex, layoutMarker, listReferrers } from './referrer.ts';

/**
 * A tar of an OCI image layout with one artifact and its attestations, the same bytes for the same ones.
 *
 * @param refName by which tools find the artifact in it.
 * @throws GloveboxError as loadArtifact does, before the first byte.
 */
export async function* exportLayout(
  digest: string,
  envelopeTexts: readonly string[],
  refName: string,
  read: ReadBlob,
): AsyncGenerator<Uint8Array> {
  const blobs = new Map<string, Uint8Array>();
  const keep: ReadBlob = async (wanted, maxBytes) => {
    const bytes = await read(wanted, maxBytes);
    if (bytes !== undefined) blobs.set(wanted, bytes);
    return bytes;
  };
  await loadArtifact(digest, keep);
  const manifest = blobs.get(digest);
  if (manifest === undefined || manifest.byteLength > artifactLimits.manifestBytes) {
    throw new GloveboxError('INTERNAL', { message: 'the manifest was not read' });
  }
  const artifact = describeArtifact(manifest, refName);
  const subject = { mediaType: artifactMediaTypes.manifest, digest, size: manifest.byteLength };
  const referrers = envelopeTexts.map((text) => asReferrer(subject, text));
  for (const referrer of referrers) for (const [name, bytes] of referrer.blobs) blobs.set(name, bytes);
  const list = listReferrers(
    digest,
    referrers.map(({ descriptor }) => descriptor),
  );
  const isAttested = referrers.length > 0;
  if (isAttested) blobs.set(list.descriptor.digest, list.bytes);
  yield* tarFile('oci-layout', layoutMarker);
  yield* tarFile(
    'index.json',
    encodeIndex({
      schemaVersion: 2,
      mediaType: artifactMediaTypes.index,
      manifests: isAttested ? [artifact, list.descriptor] : [artifact],
    }),
  );
  for (const name of [...blobs.keys()].sort()) {
    yield* tarFile(`blobs/sha256/${name.slice('sha256:'.length)}`, blobs.get(name) ?? new Uint8Array());
  }
  yield tarEnd;
}

function* tarFile(path: string, bytes: Uint8Array): Generator<Uint8Array> {
  yield tarHeader(path, bytes.byteLength);
  yield bytes;
  yield tarPadding(bytes.byteLength);
}
