import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { artifactMediaTypes, refNameAnnotation } from '@glovebox/contract';
import { describeBlob, encodeReferrerManifest, type LayoutReader, referrersTag } from '../../src/index.ts';

export type LayoutFiles = Map<string, Buffer>;

export const blobPath = (digest: string): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;

/** An OCI image layout with one artifact and what refers to it, as a map of files. */
export function makeLayout(artifact: {
  digest: string;
  manifest: Uint8Array;
  blobs: ReadonlyMap<string, Uint8Array>;
  attestations: readonly string[];
}): LayoutFiles {
  const files: LayoutFiles = new Map();
  const put = (mediaType: string, bytes: Uint8Array) => {
    const described = describeBlob(mediaType, bytes);
    files.set(blobPath(described.digest), Buffer.from(bytes));
    return described;
  };
  const { manifest, index, attestation, empty } = artifactMediaTypes;
  for (const bytes of artifact.blobs.values()) put('', bytes);
  const subject = put(manifest, artifact.manifest);
  put(empty, Buffer.from('{}'));
  const referrers = artifact.attestations.map((text) =>
    put(manifest, encodeReferrerManifest(put(attestation, Buffer.from(text)), subject)),
  );
  const list = put(index, Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: index, manifests: referrers })));
  files.set('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}'));
  files.set(
    'index.json',
    Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        manifests: [
          { ...subject, annotations: { [refNameAnnotation]: 'latest' } },
          { ...list, annotations: { [refNameAnnotation]: referrersTag(artifact.digest) } },
        ],
      }),
    ),
  );
  return files;
}

export function writeLayout(dir: string, files: LayoutFiles): void {
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), bytes);
  }
}

export const readerOf = (files: LayoutFiles): LayoutReader => ({
  read: async (path) => files.get(path),
  close: async () => {},
});
