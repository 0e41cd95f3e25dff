import { artifactMediaTypes, type Json } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { makeParts } from '../../../test/support/artifact.ts';
import { tar } from '../../../test/support/tar-writer.ts';
import { canonicalJson } from './canonical.ts';
import { composeArtifact } from './compose-artifact.ts';
import { loadArtifact } from './load-artifact.ts';
import { describeBlob, encodeArtifactManifest } from './oci-manifest.ts';

const artifact = composeArtifact(makeParts());
type Blobs = Map<string, Uint8Array>;
const blobsOf = (): Blobs => new Map([...artifact.blobs, [artifact.digest, artifact.manifest]]);
const load = (blobs: Blobs, digest: string = artifact.digest) =>
  loadArtifact(digest, async (wanted) => blobs.get(wanted));
const code = (blobs: Blobs, digest?: string): Promise<string> =>
  load(blobs, digest).then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );

const configText = (): string => canonicalJson(artifact.config);

/** The artifact made again with other parts, with every digest right. */
function remade(
  config: string,
  over: { source?: Uint8Array; manifest?: (text: string) => string } = {},
): [Blobs, string] {
  const blobs: Blobs = new Map();
  const put = (mediaType: string, bytes: Uint8Array) => {
    const described = describeBlob(mediaType, bytes);
    blobs.set(described.digest, bytes);
    return described;
  };
  const { bundle, sourceMap, source } = artifactMediaTypes;
  const [, bundleBytes, mapBytes, sourceBytes] = [...artifact.blobs.values()];
  const text = Buffer.from(
    encodeArtifactManifest(put(artifactMediaTypes.config, Buffer.from(config)), [
      put(bundle, bundleBytes as Uint8Array),
      put(sourceMap, mapBytes as Uint8Array),
      put(source, over.source ?? (sourceBytes as Uint8Array)),
    ]),
  ).toString('utf8');
  return [blobs, put('', Buffer.from(over.manifest?.(text) ?? text)).digest];
}

/** A manifest in which one blob, of the config first and then the layers, is said to have more or fewer bytes. */
function resized(text: string, at: number, moreBytes: number): string {
  const { config, layers } = JSON.parse(text);
  const blobs = [config, ...layers];
  blobs[at].size += moreBytes;
  return Buffer.from(encodeArtifactManifest(config, layers)).toString('utf8');
}

const edited = (edit: (config: { [key: string]: Json }) => void): string => {
  const config = JSON.parse(configText());
  edit(config);
  return canonicalJson(config);
};

describe('an artifact', () => {
  it('loads as it was composed', async () => {
    const parts = makeParts();
    const loaded = await load(blobsOf());
    expect(loaded.config).toEqual(artifact.config);
    expect([loaded.bundle, loaded.sourceMap]).toEqual([parts.bundle, parts.sourceMap]);
    expect(remade(configText())[1]).toBe(artifact.digest);
  });

  it('is not there without its manifest', async () => {
    expect(await code(new Map())).toBe('NOT_FOUND');
  });

  it.each([...blobsOf().keys()].map((digest, i) => [i, digest] as const))(
    'is corrupted with a bit of blob %i changed, with bytes more or less, and without it',
    async (_i, digest) => {
      const original = blobsOf().get(digest) as Uint8Array;
      const spoilt = Buffer.from(original);
      spoilt[spoilt.length >> 1] = (spoilt[spoilt.length >> 1] ?? 0) ^ 1;
      for (const bytes of [
        spoilt,
        original.subarray(1),
        Buffer.concat([original, Buffer.from(' ')]),
        Buffer.alloc(0),
      ]) {
        expect(await code(blobsOf().set(digest, bytes))).toBe('ARTIFACT_CORRUPTED');
      }
      const without = blobsOf();
      without.delete(digest);
      expect(await code(without)).toBe(digest === artifact.digest ? 'NOT_FOUND' : 'ARTIFACT_CORRUPTED');
    },
  );
});

describe('an artifact whose digests are right', () => {
  it.each<[string, () => [Blobs, string]]>([
    ['a config that is not JSON', () => remade('x')],
    ['a config that nests too deep', () => remade(`${'['.repeat(5000)}${']'.repeat(5000)}`)],
    ['an unknown field', () => remade(edited((config) => Object.assign(config, { extra: 1 })))],
    ['a missing field', () => remade(edited((config) => void delete config.toolchain))],
    [
      'a default left out',
      () => remade(edited((config) => void delete (config.manifest as { sideEffect?: 1 }).sideEffect)),
    ],
    ['white space in its config', () => remade(`${configText()} `)],
    ['a repeated key', () => remade(configText().replace('{', '{"id":"csv-profile",'))],
    ['half a surrogate pair', () => remade(configText().replace('CSV profile', '\\ud800'))],
    [
      'other permissions than its manifest',
      () => remade(edited((c) => Object.assign(c.permissions as object, { files: true }))),
    ],
    [
      'another permissions digest',
      () => remade(edited((c) => Object.assign(c, { permissionsDigest: artifact.digest }))),
    ],
    ['another id than its manifest', () => remade(edited((config) => Object.assign(config, { id: 'other' })))],
    ['an integrity that is none', () => remade(configText().replace('sha512-', 'sha1-'))],
    ['another revision', () => remade(edited((config) => Object.assign(config, { revision: artifact.digest })))],
    ['a source that is not the revision', () => remade(configText(), { source: tar([{ name: 'a' }]) })],
    ['a source that is no archive', () => remade(configText(), { source: Buffer.from('x') })],
    ['white space in its manifest', () => remade(configText(), { manifest: (text) => `${text}\n` })],
    [
      'an annotation in its manifest',
      () => remade(configText(), { manifest: (text) => text.replace('{', '{"annotations":{},') }),
    ],
    [
      'a manifest of another type',
      () => remade(configText(), { manifest: (text) => text.replace('glovebox.node.v1"', 'other.v1"') }),
    ],
    [
      'a layer of another type',
      () => remade(configText(), { manifest: (text) => text.replace('source.v1.tar', 'source.v2.tar') }),
    ],
    [
      'no layers',
      () =>
        remade(configText(), {
          manifest: (text) => text.replace(/"layers":\[.*\],"mediaType"/, '"layers":[],"mediaType"'),
        }),
    ],
    [
      'a layer that claims to be huge',
      () => remade(configText(), { manifest: (text) => text.replace('"size":18', '"size":99999999') }),
    ],
    ...[0, 1, 2, 3].flatMap((at): [string, () => [Blobs, string]][] =>
      [-1, 1].map((more) => [
        `blob ${at} said to have ${more} bytes more`,
        () => remade(configText(), { manifest: (text) => resized(text, at, more) }),
      ]),
    ),
    ['a manifest that is a list', () => remade(configText(), { manifest: () => '[]' })],
  ])('is invalid with %s', async (_what, make) => {
    const [blobs, digest] = make();
    expect(digest).not.toBe(artifact.digest);
    expect(await code(blobs, digest)).toBe('ARTIFACT_INVALID');
  });
});
