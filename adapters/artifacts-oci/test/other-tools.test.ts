import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLayout, verifyArtifact } from '@glovebox/artifact';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeArtifact, makeSigner } from '../../../test/support/artifact.ts';
import { createArtifactStore } from '../src/index.ts';

const { signer, publicKeyPem } = makeSigner();
const refName = 'default/csv-profile@1.2.3';
let home: string;
let dir: string;
let artifact: Awaited<ReturnType<typeof makeArtifact>>;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-tools-'));
  dir = join(home, 'artifacts');
  artifact = await makeArtifact(signer);
  const store = createArtifactStore(dir);
  await store.put(artifact);
  await store.put(await makeArtifact(signer, { version: '1.2.4' }));
  await store.name(artifact.digest, refName);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (program: string, ...args: string[]): Buffer =>
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
const sha256 = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

it('is read by skopeo under its digest and under its name', () => {
  for (const name of [artifact.digest, refName]) {
    const raw = run('skopeo', 'inspect', '--raw', `oci:${dir}:${name}`);
    expect(sha256(raw)).toBe(artifact.digest);
    expect(raw.equals(artifact.manifest)).toBe(true);
  }
  expect(() => run('skopeo', 'inspect', '--raw', `oci:${dir}:none`)).toThrow();
});

it('is copied by skopeo with every blob, and no byte changes', () => {
  const to = join(home, 'copied');
  run('skopeo', 'copy', '--quiet', `oci:${dir}:${refName}`, `dir:${to}`);
  expect(sha256(readFileSync(join(to, 'manifest.json')))).toBe(artifact.digest);
  const blobs = readdirSync(to).filter((name) => /^[0-9a-f]{64}$/.test(name));
  expect(blobs.map((name) => `sha256:${name}`).sort()).toEqual([...artifact.blobs.keys()].sort());
  for (const name of blobs) expect(sha256(readFileSync(join(to, name)))).toBe(`sha256:${name}`);
});

it('is listed by umoci, as is what refers to it', () => {
  const names = run('umoci', 'ls', '--layout', dir).toString().trim().split('\n');
  expect(names).toContain(artifact.digest);
  expect(names).toContain(refName);
  expect(names).toContain(artifact.digest.replace(':', '-'));
});

it('has its attestations under the referrers tag, as manifests with it as their subject', () => {
  const list = JSON.parse(
    run('skopeo', 'inspect', '--raw', `oci:${dir}:${artifact.digest.replace(':', '-')}`).toString(),
  );
  expect(list).toMatchObject({ schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json' });
  expect(list.manifests).toHaveLength(4);
  const envelopes = list.manifests.map(({ digest, artifactType }: { digest: string; artifactType: string }) => {
    expect(artifactType).toBe('application/vnd.dsse.envelope.v1+json');
    const read = (of: string): Buffer => readFileSync(join(dir, 'blobs', 'sha256', of.slice('sha256:'.length)));
    const manifest = JSON.parse(read(digest).toString());
    expect(manifest.subject).toMatchObject({ digest: artifact.digest, size: artifact.manifest.byteLength });
    return read(manifest.layers[0].digest).toString();
  });
  expect(envelopes).toEqual(artifact.attestations);
});

it('survives the garbage collection of umoci', async () => {
  const copy = join(home, 'collected');
  execFileSync('cp', ['-a', dir, copy]);
  run('umoci', 'gc', '--layout', copy);
  const store = createArtifactStore(copy);
  expect((await store.load(artifact.digest)).config).toEqual(artifact.config);
  expect(await store.attestations(artifact.digest)).toEqual(artifact.attestations);
});

it('is exported as an archive that skopeo reads, and verifies after a copy into another layout and back', async () => {
  const parts: Uint8Array[] = [];
  for await (const part of createArtifactStore(dir).exportLayout(artifact.digest, refName)) parts.push(part);
  const archive = join(home, 'artifact.tar');
  writeFileSync(archive, Buffer.concat(parts));
  expect(sha256(run('skopeo', 'inspect', '--raw', `oci-archive:${archive}:${refName}`))).toBe(artifact.digest);
  const to = join(home, 'other');
  run('skopeo', 'copy', '--quiet', `oci-archive:${archive}:${refName}`, `oci:${to}:v1`);
  const packed = join(home, 'packed.tar');
  run('skopeo', 'copy', '--quiet', `oci-archive:${archive}:${refName}`, `oci-archive:${packed}:v1`);
  // A copy of an image leaves what refers to it behind, and that is told.
  for (const path of [to, packed]) {
    const layout = await openLayout(path);
    expect(await verifyArtifact(layout, { keys: [publicKeyPem] })).toMatchObject({
      ok: false,
      error: { code: 'ARTIFACT_UNSIGNED' },
    });
    await layout.close();
  }
  const unpacked = join(home, 'unpacked');
  execFileSync('sh', ['-c', 'mkdir "$1" && tar -xf "$0" -C "$1"', archive, unpacked]);
  const whole = await openLayout(unpacked);
  expect(await verifyArtifact(whole, { keys: [publicKeyPem] })).toMatchObject({ ok: true, digest: artifact.digest });
});
