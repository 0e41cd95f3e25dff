import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { artifactMediaTypes } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { makeParts } from '../../../test/support/artifact.ts';
import { canonicalJson } from './canonical.ts';
import { composeArtifact } from './compose-artifact.ts';
import { sha256Of } from './digest.ts';
import { loadArtifact } from './load-artifact.ts';
import { permissionsDigest } from './permissions.ts';

const digest = 'sha256:8ecb08eabde6e35458df3422a358883d4d87c526591272c3017b083c781b49b1';

it('has this digest for these parts, for ever', () => {
  expect(composeArtifact(makeParts()).digest).toBe(digest);
});

it('has the same digest under another umask, time zone, locale and directory', () => {
  const program = fileURLToPath(new URL('../test/support/compose.ts', import.meta.url));
  const composed = [
    { umask: '000', env: { TZ: 'Pacific/Kiritimati', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }, cwd: '/' },
    { umask: '077', env: { TZ: 'America/New_York', LC_ALL: 'C', HOME: '/nowhere' }, cwd: '/tmp' },
  ].map(({ umask, env, cwd }) => {
    const line = `umask ${umask}; exec "$0" "$1"`;
    return spawnSync('sh', ['-c', line, process.execPath, program], { env, cwd, encoding: 'utf8' });
  });
  expect(composed.map(({ stdout, stderr }) => [stdout.trim(), stderr])).toEqual([
    [digest, ''],
    [digest, ''],
  ]);
});

it('does not depend on the order in which parts are listed, nor on a tool being named twice', () => {
  const parts = makeParts();
  const other = composeArtifact({
    ...parts,
    files: new Map([...parts.files].reverse()),
    dependencies: [...parts.dependencies].reverse(),
    toolchain: [...parts.toolchain, ...parts.toolchain].reverse(),
    manifest: Object.fromEntries(Object.entries(parts.manifest).reverse()) as typeof parts.manifest,
  });
  expect(other.digest).toBe(digest);
});

it.each<[string, Partial<ReturnType<typeof makeParts>>]>([
  ['version', { version: '1.2.4' }],
  ['name', { name: 'csv-profile' }],
  ['license', { license: 'UNLICENSED' }],
  ['bundle', { bundle: Buffer.from('export default 2;\n') }],
  ['source map', { sourceMap: Buffer.from('{}') }],
  ['toolchain', { toolchain: ['esbuild@0.28.3'] }],
  ['dependencies', { dependencies: [] }],
  ['manifest', { manifest: { ...makeParts().manifest, title: 'Other' } }],
])('has another digest with another %s', (_part, over) => {
  expect(composeArtifact(makeParts(over)).digest).not.toBe(digest);
});

it('is an OCI manifest with a config and three layers, each under its digest', async () => {
  const artifact = composeArtifact(makeParts());
  const manifest = JSON.parse(Buffer.from(artifact.manifest).toString('utf8'));
  expect(manifest).toMatchObject({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    artifactType: 'application/vnd.glovebox.node.v1',
    config: { mediaType: 'application/vnd.glovebox.node.config.v1+json' },
  });
  expect(manifest.layers.map((layer: { mediaType: string }) => layer.mediaType)).toEqual([
    artifactMediaTypes.bundle,
    artifactMediaTypes.sourceMap,
    artifactMediaTypes.source,
  ]);
  for (const { digest, size } of [manifest.config, ...manifest.layers]) {
    const bytes = artifact.blobs.get(digest) ?? new Uint8Array();
    expect([sha256Of(bytes), bytes.byteLength]).toEqual([digest, size]);
  }
  expect(artifact.blobs.size).toBe(4);
  expect(sha256Of(artifact.manifest)).toBe(artifact.digest);
});

it('says in its config what it is, in canonical JSON', () => {
  const { config, blobs } = composeArtifact(makeParts());
  expect(config).toMatchObject({
    schema: 'glovebox.node/1',
    id: 'csv-profile',
    version: '1.2.3',
    permissionsDigest: permissionsDigest(makeParts().manifest),
    toolchain: ['esbuild@0.28.2', 'node@26.12.1', 'sdk@0.1.0', 'typescript@7.0.2'],
  });
  expect(config.dependencies.map(({ path }) => path)).toEqual([
    'node_modules/@acme/base',
    'node_modules/@acme/base/node_modules/papaparse',
    'node_modules/papaparse',
    'node_modules/unused',
  ]);
  expect([...blobs.values()].map((bytes) => Buffer.from(bytes).toString('utf8'))).toContain(canonicalJson(config));
});

it('loads, also where the author wrote half a surrogate pair', async () => {
  const parts = makeParts({ license: 'MIT\ud800' });
  const artifact = composeArtifact({ ...parts, manifest: { ...parts.manifest, title: '\udfffCSV' } });
  const given = new Map([...artifact.blobs, [artifact.digest, artifact.manifest]]);
  const loaded = await loadArtifact(artifact.digest, async (wanted) => given.get(wanted));
  expect([loaded.config.license, loaded.config.manifest.title]).toEqual(['MIT\ufffd', '\ufffdCSV']);
});
