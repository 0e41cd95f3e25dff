import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeBlob, openLayout, referrersTag, sha256Of, signStatement, verifyArtifact } from '@glovebox/artifact';
import { artifactLimits, artifactMediaTypes, refNameAnnotation } from '@glovebox/contract';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeArtifact, makeSigner, makeStatements } from '../../../test/support/artifact.ts';
import { createArtifactStore } from './artifact-store.ts';

const { signer, publicKeyPem } = makeSigner();
let artifact: Awaited<ReturnType<typeof makeArtifact>>;
let second: typeof artifact;
beforeAll(async () => {
  artifact = await makeArtifact(signer);
  second = await makeArtifact(signer, { version: '1.2.4' });
});

let home: string;
let dir: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-artifacts-'));
  dir = join(home, 'artifacts');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const pathOf = (digest: string): string => join(dir, 'blobs', 'sha256', digest.slice('sha256:'.length));
const index = (): { manifests: { digest: string; annotations?: { [name: string]: string } }[] } =>
  JSON.parse(readFileSync(join(dir, 'index.json'), 'utf8'));
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );
const everyFile = (): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
async function exported(digest: string, refName?: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of createArtifactStore(dir).exportLayout(digest, refName)) parts.push(part);
  return Buffer.concat(parts);
}

describe('an artifact that was put', () => {
  it('is there in full, with its attestations in their order, for whoever opens the store', async () => {
    await createArtifactStore(dir).put(artifact);
    const store = createArtifactStore(dir);
    const loaded = await store.load(artifact.digest);
    expect(loaded.config).toEqual(artifact.config);
    expect(Buffer.from(loaded.bundle).toString()).toBe('export default 1;\n');
    expect(await store.attestations(artifact.digest)).toEqual(artifact.attestations);
  });

  it('is kept from everyone but the owner of the directory, and leaves nothing half-written', async () => {
    await createArtifactStore(dir).put(artifact);
    const directories = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    for (const { parentPath, name } of directories) expect(statSync(join(parentPath, name)).mode & 0o777).toBe(0o700);
    for (const name of everyFile()) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    expect(everyFile().filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('changes nothing when it is put again, but for attestations that it did not have', async () => {
    const store = createArtifactStore(dir);
    await store.put({ ...artifact, attestations: artifact.attestations.slice(0, 3) });
    const before = everyFile().map((name) => [name, statSync(join(dir, name)).mtimeMs]);
    await store.put({ ...artifact, attestations: artifact.attestations.slice(0, 3) });
    expect(everyFile().map((name) => [name, statSync(join(dir, name)).mtimeMs])).toEqual(before);
    await store.put(artifact);
    await store.attest(artifact.digest, artifact.attestations.slice(2));
    expect(await store.attestations(artifact.digest)).toEqual(artifact.attestations);
    expect(index().manifests).toHaveLength(2);
  });

  it('takes attestations later, which others see at once', async () => {
    const [store, other] = [createArtifactStore(dir), createArtifactStore(dir)];
    await store.put({ ...artifact, attestations: [] });
    expect(await other.attestations(artifact.digest)).toEqual([]);
    for (const text of artifact.attestations) await store.attest(artifact.digest, [text]);
    expect(await other.attestations(artifact.digest)).toEqual(artifact.attestations);
    await store.put(second);
    expect((await other.load(second.digest)).config.version).toBe('1.2.4');
  });

  it('takes as many attestations as a reader does, and keeps those when there is one more', async () => {
    const store = createArtifactStore(dir);
    await store.put({ ...artifact, attestations: [] });
    const fakes = Array.from({ length: artifactLimits.attestations - 1 }, (_, i) => ({
      mediaType: artifactMediaTypes.manifest,
      digest: sha256Of(String(i)),
      size: 1,
      artifactType: artifactMediaTypes.attestation,
    }));
    const list = Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: fakes }));
    writeFileSync(pathOf(sha256Of(list)), list);
    const { manifests, ...rest } = index();
    const annotations = { [refNameAnnotation]: referrersTag(artifact.digest) };
    const described = { ...describeBlob(artifactMediaTypes.index, list), annotations };
    writeFileSync(join(dir, 'index.json'), JSON.stringify({ ...rest, manifests: [...manifests, described] }));
    await store.attest(artifact.digest, artifact.attestations.slice(0, 1));
    const before = index();
    expect(before.manifests[1]?.digest).not.toBe(described.digest);
    expect(await codeOf(store.attest(artifact.digest, artifact.attestations.slice(1, 2)))).toBe('ATTESTATIONS_LIMIT');
    expect(await codeOf(store.attest(artifact.digest, artifact.attestations.slice(0, 1)))).toBe('ok');
    expect(index()).toEqual(before);
  });

  it('can be named, and a name moves to who gets it last', async () => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    await store.put(second);
    const named = () =>
      index().manifests.filter(
        ({ annotations }) => annotations?.['org.opencontainers.image.ref.name'] === 'default/csv-profile@1',
      );
    await store.name(artifact.digest, 'default/csv-profile@1');
    expect(named()).toMatchObject([{ digest: artifact.digest }]);
    const written = statSync(join(dir, 'index.json')).mtimeMs;
    await store.name(artifact.digest, 'default/csv-profile@1');
    expect(statSync(join(dir, 'index.json')).mtimeMs).toBe(written);
    await store.name(second.digest, 'default/csv-profile@1');
    expect(named()).toMatchObject([{ digest: second.digest }]);
    for (const { digest, attestations } of [artifact, second]) {
      expect(await codeOf(store.load(digest))).toBe('ok');
      expect(await store.attestations(digest)).toEqual(attestations);
      expect(await codeOf(store.name(artifact.digest, digest))).toBe('INTERNAL');
    }
  });
});

describe('an artifact that is not there', () => {
  it('is not found, whatever is asked for', async () => {
    const store = createArtifactStore(dir);
    const ask = (digest: string): Promise<string[]> =>
      Promise.all(
        [
          store.load(digest),
          store.attestations(digest),
          store.attest(digest, []),
          store.name(digest, 'x'),
          exported(digest),
        ].map(codeOf),
      );
    expect(await ask(artifact.digest)).toEqual(Array(5).fill('NOT_FOUND'));
    expect(existsSync(dir)).toBe(false);
    await store.put(artifact);
    for (const digest of [
      second.digest,
      'sha256:../../../../etc/passwd',
      '../index.json',
      '',
      `${artifact.digest}/..`,
    ]) {
      expect(await ask(digest)).toEqual(Array(5).fill('NOT_FOUND'));
    }
    expect(await ask(artifact.digest)).toEqual(Array(5).fill('ok'));
  });

  it('is not the blob of one that is: a config or an attestation is no artifact', async () => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    for (const name of readdirSync(join(dir, 'blobs', 'sha256'))) {
      if (`sha256:${name}` !== artifact.digest) expect(await codeOf(store.load(`sha256:${name}`))).toBe('NOT_FOUND');
    }
  });

  it('is not kept when it would not load', async () => {
    const store = createArtifactStore(dir);
    const [config] = artifact.blobs.keys();
    const lacking = { ...artifact, blobs: new Map([...artifact.blobs].filter(([digest]) => digest !== config)) };
    expect(await codeOf(store.put(lacking))).toBe('ARTIFACT_CORRUPTED');
    expect(await codeOf(store.put({ ...artifact, digest: second.digest }))).toBe('ARTIFACT_CORRUPTED');
    expect(await codeOf(store.load(artifact.digest))).toBe('NOT_FOUND');
  });
});

describe('damage', () => {
  it('of any blob is told when it is read, and mended when the artifact is put again', async () => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    const readAll = async (): Promise<string> => {
      const codes = await Promise.all([store.load(artifact.digest), store.attestations(artifact.digest)].map(codeOf));
      return codes.find((code) => code !== 'ok') ?? 'ok';
    };
    const names = readdirSync(join(dir, 'blobs', 'sha256'));
    expect(names).toHaveLength(15);
    for (const name of names) {
      const path = join(dir, 'blobs', 'sha256', name);
      const bytes = readFileSync(path);
      // That of no config, which nothing reads.
      const isRead = bytes.toString() !== '{}';
      const flipped = Buffer.from(bytes);
      flipped[bytes.length >> 1] = (flipped[bytes.length >> 1] ?? 0) ^ 1;
      const elsewhere = join(home, 'elsewhere');
      writeFileSync(elsewhere, bytes);
      const spoils: [string, () => void][] = [
        ['a bit', () => writeFileSync(path, flipped)],
        ['an end cut off', () => truncateSync(path, bytes.length - 1)],
        ['its absence', () => rmSync(path)],
        [
          'a link to its bytes',
          () => {
            rmSync(path);
            symlinkSync(elsewhere, path);
          },
        ],
        [
          'a pipe',
          () => {
            rmSync(path);
            execFileSync('mkfifo', [path]);
          },
        ],
      ];
      for (const [what, spoil] of spoils) {
        spoil();
        expect({ name, what, code: await readAll() }).toEqual({
          name,
          what,
          code: isRead ? 'ARTIFACT_CORRUPTED' : 'ok',
        });
        await store.put(artifact);
        expect({ name, what, code: await readAll() }).toEqual({ name, what, code: 'ok' });
        expect(readFileSync(path).equals(bytes)).toBe(true);
      }
    }
  });

  it.each<[string, (path: string) => void]>([
    ['cut short', (path) => truncateSync(path, 100)],
    ['empty', (path) => truncateSync(path, 0)],
    ['gone', (path) => rmSync(path)],
    ['another JSON', (path) => writeFileSync(path, '{"manifests":7}')],
    [
      'a pipe',
      (path) => {
        rmSync(path);
        execFileSync('mkfifo', [path]);
      },
    ],
    [
      'a link',
      (path) => {
        copyFileSync(path, join(home, 'copy'));
        rmSync(path);
        symlinkSync(join(home, 'copy'), path);
      },
    ],
  ])('of the index, %s, loses nothing: it is made again from the blobs', async (_what, spoil) => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    await store.put(second);
    spoil(join(dir, 'index.json'));
    const both = async () => {
      const found = [];
      for (const { digest } of [artifact, second]) {
        found.push([(await store.load(digest)).config.version, (await store.attestations(digest)).sort()]);
      }
      return found;
    };
    const expected = [artifact, second].map(({ config, attestations }) => [config.version, [...attestations].sort()]);
    expect(await both()).toEqual(expected);
    const third = await makeArtifact(signer, { version: '1.2.5' });
    await store.put(third);
    expect(await both()).toEqual(expected);
    expect(await codeOf(createArtifactStore(dir).load(third.digest))).toBe('ok');
    const { envelopeText } = await signStatement(makeStatements(artifact, signer.instance).report, makeSigner().signer);
    await store.attest(artifact.digest, [envelopeText]);
    expect(await store.attestations(artifact.digest)).toContain(envelopeText);
    expect(await store.attestations(artifact.digest)).toHaveLength(5);
    const layout = await openLayout(dir);
    expect(await verifyArtifact(layout, { keys: [publicKeyPem], digest: second.digest })).toMatchObject({ ok: true });
  });

  it('of the index leads to nothing that does not have its digest', async () => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    copyFileSync(pathOf(artifact.digest), pathOf(second.digest));
    rmSync(join(dir, 'index.json'));
    expect(await codeOf(store.load(second.digest))).toBe('NOT_FOUND');
    expect(await codeOf(store.load(artifact.digest))).toBe('ok');
  });

  it('of the directory is told by its code', async () => {
    writeFileSync(dir, 'a file');
    expect(await codeOf(createArtifactStore(dir).put(artifact))).toBe('DATA_DIR_UNUSABLE');
    expect(await codeOf(createArtifactStore(dir).load(artifact.digest))).toBe('DATA_DIR_UNUSABLE');
    rmSync(dir);
    mkdirSync(dir);
    expect(await codeOf(createArtifactStore(dir).put(artifact))).toBe('ok');
  });
});

describe('an export', () => {
  it('is a layout of that artifact alone, which verifies elsewhere', async () => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    await store.put(second);
    const path = join(home, 'artifact.tar');
    writeFileSync(path, await exported(artifact.digest, 'default/csv-profile@1.2.3'));
    const layout = await openLayout(path);
    const result = await verifyArtifact(layout, { keys: [publicKeyPem] });
    await layout.close();
    expect(result).toMatchObject({ ok: true, digest: artifact.digest });
    expect(result.ok && result.attestations.map(({ kind }) => kind)).toEqual([
      'provenance',
      'report',
      'sbom',
      'release',
    ]);
    expect(execFileSync('tar', ['-tf', path], { encoding: 'utf8' }).trim().split('\n')).toHaveLength(17);
    expect((await exported(artifact.digest, 'default/csv-profile@1.2.3')).equals(readFileSync(path))).toBe(true);
  });

  it('begins with no byte when a blob is damaged', async () => {
    const store = createArtifactStore(dir);
    await store.put(artifact);
    const [config] = artifact.blobs.keys();
    rmSync(pathOf(config as string));
    const parts = store.exportLayout(artifact.digest)[Symbol.asyncIterator]();
    expect(await codeOf(parts.next())).toBe('ARTIFACT_CORRUPTED');
  });
});
