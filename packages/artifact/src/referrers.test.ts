import {
  artifactLimits,
  artifactMediaTypes,
  type Descriptor,
  type OciIndex,
  refNameAnnotation,
} from '@glovebox/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeArtifact } from '../../../test/support/artifact.ts';
import { blobPath, type LayoutFiles, makeLayout, readerOf } from '../test/support/layout.ts';
import { makeKey } from '../test/support/predicate.ts';
import { describeBlob, encodeReferrerManifest, referrersTag, verifyArtifact } from './index.ts';

const key = makeKey();
let artifact: Awaited<ReturnType<typeof makeArtifact>>;
beforeAll(async () => {
  artifact = await makeArtifact(key.signer);
});

/** What verifying comes to, and how often each file was read for it. */
async function verify(files: LayoutFiles): Promise<{ code: string; reads: ReadonlyMap<string, number> }> {
  const reads = new Map<string, number>();
  const { read, close } = readerOf(files);
  const counting = {
    read(path: string, maxBytes: number) {
      reads.set(path, (reads.get(path) ?? 0) + 1);
      return read(path, maxBytes);
    },
    close,
  };
  const result = await verifyArtifact(counting, { keys: [key.publicKeyPem] });
  return { code: result.ok ? 'ok' : result.error.code, reads };
}

const indexOf = (files: LayoutFiles): OciIndex => JSON.parse(String(files.get('index.json')));
function withManifests(files: LayoutFiles, change: (manifests: Descriptor[]) => Descriptor[]): LayoutFiles {
  const index = indexOf(files);
  return files.set('index.json', Buffer.from(JSON.stringify({ ...index, manifests: change(index.manifests) })));
}
function put(files: LayoutFiles, mediaType: string, bytes: Uint8Array): Descriptor {
  const described = describeBlob(mediaType, bytes);
  files.set(blobPath(described.digest), Buffer.from(bytes));
  return described;
}

/** A layout with envelopes of anyone before those of the artifact, and their paths. */
function withForeign(count: number, subjectOf = (subject: Descriptor, _i: number): Descriptor => subject) {
  const files = makeLayout(artifact);
  const [subject] = indexOf(files).manifests as [Descriptor];
  const envelopes = Array.from({ length: count }, (_, i) =>
    put(files, artifactMediaTypes.attestation, Buffer.from(`{"not signed":${i}}`)),
  );
  const referrers = envelopes.map((envelope, i) =>
    put(files, artifactMediaTypes.manifest, encodeReferrerManifest(envelope, subjectOf(subject, i))),
  );
  return {
    files: withManifests(files, (all) => [...all, ...referrers]),
    paths: envelopes.map((e) => blobPath(e.digest)),
  };
}

describe('attestations that a layout lists', () => {
  it('are read once each where all hold', async () => {
    const { code, reads } = await verify(makeLayout(artifact));
    expect(code).toBe('ok');
    for (const text of artifact.attestations) {
      expect(reads.get(blobPath(describeBlob('', Buffer.from(text)).digest))).toBe(1);
    }
  });

  it('are read no further than the first that nobody trusted has signed', async () => {
    const { files, paths } = withForeign(50);
    const { code, reads } = await verify(files);
    expect(code).toBe('ATTESTATION_INVALID');
    expect(paths.filter((path) => reads.has(path))).toEqual(paths.slice(0, 1));
  });

  it('have the artifact as their subject in one form only, so that one envelope is not named by many', async () => {
    const { files, paths } = withForeign(2, (subject, i) => ({ ...subject, size: subject.size + i + 1 }));
    const { code, reads } = await verify(files);
    expect(code).toBe('ARTIFACT_INVALID');
    expect(paths.some((path) => reads.has(path))).toBe(false);
    const typed = withForeign(1, (subject) => ({ ...subject, mediaType: 'a/b' }));
    expect((await verify(typed.files)).code).toBe('ARTIFACT_INVALID');
  });

  it('may be no more than the limit', async () => {
    const { files, paths } = withForeign(artifactLimits.attestations + 1);
    const { code, reads } = await verify(files);
    expect(code).toBe('ARTIFACT_INVALID');
    expect(paths.some((path) => reads.has(path))).toBe(false);
  });
});

describe('the list of referrers', () => {
  it('is read once, however often the index names it', async () => {
    const files = makeLayout(artifact);
    const [, list] = indexOf(files).manifests as [Descriptor, Descriptor];
    withManifests(files, (manifests) => [...manifests, ...Array<Descriptor>(200).fill(list)]);
    const { code, reads } = await verify(files);
    expect(code).toBe('ok');
    expect(reads.get(blobPath(list.digest))).toBe(1);
  });

  it('is one: a layout with two of them is refused, and one with that of another artifact is not', async () => {
    const second = (tag: string): LayoutFiles => {
      const files = makeLayout(artifact);
      const list = put(files, artifactMediaTypes.index, Buffer.from('{"schemaVersion":2,"manifests":[]}'));
      return withManifests(files, (all) => [...all, { ...list, annotations: { [refNameAnnotation]: tag } }]);
    };
    expect((await verify(second(referrersTag(artifact.digest)))).code).toBe('ARTIFACT_INVALID');
    expect((await verify(second(referrersTag(`sha256:${'0'.repeat(64)}`)))).code).toBe('ok');
  });

  it('has the size that the index says, as the artifact does', async () => {
    for (const at of [0, 1]) {
      for (const more of [0, 1]) {
        const files = withManifests(makeLayout(artifact), (all) =>
          all.map((each, i) => (i === at ? { ...each, size: each.size + more } : each)),
        );
        expect({ at, more, code: (await verify(files)).code }).toEqual({
          at,
          more,
          code: more === 0 ? 'ok' : 'ARTIFACT_INVALID',
        });
      }
    }
  });
});
