import { generateKeyPairSync, sign } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseStatement, sha256Of } from '@glovebox/artifact';
import { artifactMediaTypes, type Release } from '@glovebox/contract';
import { publishRelease, revokeRelease, showRelease, verifyRun } from '@glovebox/engine';
import { beforeEach, describe, expect, it } from 'vitest';
import { author, envelopeOf, passDraft, release, runReference } from '../support/releases.ts';
import { tamper } from '../support/tamper.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

let id: string;
let ids = 0;
let released: Release;
beforeEach(async () => {
  id = `node-${++ids}`;
  released = await release(cells(), { id, body: `return 'as released'` });
});

/** What is refused: no cell boots, nothing is recorded, and whoever looks at the release is told. */
async function expectRefused(code: string, details?: object): Promise<void> {
  const { engine } = cells();
  const expected = { code, ...(details ? { details } : {}) };
  await expectRefusedRun(code, `${id}@1.0.0`, details);
  const shown = await showRelease(engine, { project: 'default', reference: `${id}@1.0.0` });
  expect(shown).toMatchObject({ content: null, problem: expected });
}

async function expectRefusedRun(code: string, reference = `${id}@1.0.0`, details?: object): Promise<void> {
  const { engine, boots } = cells();
  const booted = boots.length;
  await expect(runReference(engine, reference)).rejects.toMatchObject({ code, ...(details ? { details } : {}) });
  expect(boots.length).toBe(booted);
  expect(await engine.store.list({ project: 'default', limit: 10, node: id })).toEqual([]);
}

const change = (sql: string): void => tamper(cells().dataDir, `UPDATE releases SET ${sql} WHERE id = '${id}'`);

it('runs what nobody has touched', async () => {
  expect((await runReference(cells().engine, id)).output).toBe('as released');
});

describe('a row of the database', () => {
  it('that names another release\u2019s artifact is refused', async () => {
    const other = await release(cells(), { id: `${id}-other`, body: `return 'another'` });
    change(`digest = '${other.digest}'`);
    await expectRefused('ARTIFACT_INVALID', { differs: ['id', 'revision'] });
    expect((await runReference(cells().engine, `${id}-other`)).output).toBe('another');
  });

  it('that names an artifact of the same node that passed and was never released is refused', async () => {
    id = `${id}-twice`;
    const { artifact, revision } = await passDraft(cells(), { id, body: 'return 1' });
    await release(cells(), { id, body: 'return 2' });
    change(`digest = '${artifact}', revision = '${revision}'`);
    await expectRefused('ARTIFACT_UNSIGNED', { missing: ['release'] });
  });

  it('that names an artifact of the same node in another project is refused', async () => {
    const other = await release(cells(), { id, body: 'return 2' }, { project: 'elsewhere' });
    change(`digest = '${other.digest}', revision = '${other.revision}'`);
    await expectRefused('ARTIFACT_UNSIGNED', { missing: ['provenance', 'report'] });
  });

  it.each([
    ['another version', `version = '2.0.0'`, { differs: ['version'] }],
    ['another revision', `revision = '${sha256Of('r')}'`, { differs: ['revision'] }],
    ['wider permissions', `permissions = '${sha256Of('p')}'`, { differs: ['permissions'] }],
  ])('with %s is refused', async (_, sql, details) => {
    change(sql);
    const { engine, boots } = cells();
    const booted = boots.length;
    await expect(runReference(engine, id)).rejects.toMatchObject({ code: 'ARTIFACT_INVALID', details });
    expect(boots.length).toBe(booted);
  });

  it('with another image is refused, whether that is the current one or not', async () => {
    const { engine, boots } = cells();
    change(`image = '${sha256Of('another image')}'`);
    const booted = boots.length;
    await expect(runReference(engine, id)).rejects.toMatchObject({
      code: 'RUNTIME_IMAGE_CHANGED',
      details: { validatedIn: sha256Of('another image'), current: released.image },
    });
    expect(boots.length).toBe(booted);
    const images: typeof engine.images = {
      ...engine.images,
      current: async (kind) => ({ ...(await engine.images.current(kind)), digest: sha256Of('another image') }),
    };
    await expect(runReference({ ...engine, images }, id)).rejects.toMatchObject({ code: 'ARTIFACT_UNSIGNED' });
    change(`image = '${released.image}'`);
    expect((await runReference(engine, id)).output).toBe('as released');
  });

  it('that makes a revoked release active again is refused, whichever way it went there', async () => {
    const { engine } = cells();
    await revokeRelease(engine, { project: 'default', reference: released.ref, reason: 'it is bad', actor: author });
    await expectRefusedRun('RELEASE_REVOKED');
    for (const state of [`state = 'active', reason = NULL`, `state = 'deprecated', reason = 'old'`]) {
      change(state);
      await expectRefused('RELEASE_REVOKED', { ref: released.ref, reason: 'it is bad' });
    }
    change(`state = 'revoked', reason = 'it is bad'`);
    const shown = await showRelease(engine, { project: 'default', reference: released.ref });
    expect(shown).toMatchObject({ release: { state: 'revoked' }, content: { name: id }, problem: null });
  });

  it('that makes a release of what was never published is refused, though the statement for it was signed', async () => {
    const { engine, dataDir } = cells();
    const passed = await passDraft(cells(), { id, body: 'return 2' }, { version: '2.0.0' });
    const publish = async () => {
      throw new Error('killed before the transaction');
    };
    const request = { project: 'default', id, actor: author };
    const killed = publishRelease({ ...engine, releases: { ...engine.releases, publish } }, request);
    await expect(killed).rejects.toThrow('killed before');
    tamper(
      dataDir,
      `INSERT INTO releases (project, id, version, version_key, prerelease, title, digest, revision, image, permissions, state,
         published_by, published_ms, changed_ms)
       SELECT project, id, '2.0.0', version_key || '2', 0, title, '${passed.artifact}', '${passed.revision}', image,
         permissions, state, published_by, published_ms, changed_ms FROM releases WHERE id = '${id}'`,
    );
    await expectRefusedRun('AUDIT_BROKEN', `${id}@2.0.0`);
    expect((await runReference(engine, `${id}@1.0.0`)).output).toBe('as released');
    tamper(dataDir, `DELETE FROM releases WHERE id = '${id}' AND version = '2.0.0'`);
    await publishRelease(engine, request);
    expect((await runReference(engine, `${id}@2.0.0`)).output).toBe(2);
  });

  it('whose artifact never was is refused', async () => {
    change(`digest = '${sha256Of('nothing')}'`);
    await expectRefused('ARTIFACT_CORRUPTED');
  });
});

describe('a blob of the artifact', () => {
  const blobs = (): [what: string, path: string][] => {
    const manifest = JSON.parse(readFileSync(blobPath(released.digest), 'utf8'));
    const parts = [manifest.config, ...manifest.layers] as { mediaType: string; digest: string }[];
    return [
      ['manifest', blobPath(released.digest)],
      ...parts.map(({ mediaType, digest }): [string, string] => [mediaType, blobPath(digest)]),
    ];
  };

  it('is refused with a byte changed, cut short, grown, or gone, whichever it is', async () => {
    expect(blobs().map(([what]) => what)).toEqual([
      'manifest',
      artifactMediaTypes.config,
      artifactMediaTypes.bundle,
      artifactMediaTypes.sourceMap,
      artifactMediaTypes.source,
    ]);
    for (const [, path] of blobs()) {
      const bytes = readFileSync(path);
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(flipped.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
      for (const changed of [flipped, bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from('\n')]), undefined]) {
        replace(path, changed);
        await expectRefused('ARTIFACT_CORRUPTED');
      }
      replace(path, bytes);
    }
    expect((await runReference(cells().engine, id)).output).toBe('as released');
  });
});

describe('the attestations', () => {
  it('are refused without any, and with one that somebody else signed', async () => {
    const { engine } = cells();
    const artifacts = { ...engine.artifacts };
    const kept = await engine.artifacts.attestations(released.digest);
    const withAttestations = (envelopes: string[]) =>
      runReference({ ...engine, artifacts: { ...artifacts, attestations: async () => envelopes } }, id);
    await expect(withAttestations([])).rejects.toMatchObject({ code: 'ARTIFACT_UNSIGNED' });
    for (let left = 0; left < kept.length; left++)
      await expect(withAttestations(kept.toSpliced(left, 1))).rejects.toMatchObject({ code: 'ARTIFACT_UNSIGNED' });
    const { privateKey } = generateKeyPairSync('ed25519');
    const thief = {
      ...engine.signer,
      keyId: 'f'.repeat(64),
      sign: async (bytes: Uint8Array) => sign(null, bytes, privateKey),
    };
    const { config } = await engine.artifacts.load(released.digest);
    const statement = releaseStatement(
      { digest: released.digest, config },
      {
        instance: engine.signer.instance,
        ref: released.ref,
        image: released.image,
        permissions: released.permissions,
        publishedBy: author,
        publishedAt: new Date(0).toISOString(),
      },
    );
    for (const signer of [thief, { ...thief, keyId: engine.signer.keyId }]) {
      const forged = await envelopeOf({ signer }, statement);
      await expect(withAttestations([...kept, forged])).rejects.toMatchObject({
        code: signer === thief ? 'ATTESTATION_KEY_UNKNOWN' : 'ATTESTATION_SIGNATURE',
      });
    }
    expect((await withAttestations(kept)).output).toBe('as released');
  });
});

describe('publishing', () => {
  it.each([
    ['wider permissions than it passed with', `permissions = '${sha256Of('p')}'`, 'ARTIFACT_INVALID'],
    ['an artifact that never was', `artifact = '${sha256Of('a')}'`, 'ARTIFACT_CORRUPTED'],
    ['another version', `version = '3.0.0'`, 'ARTIFACT_INVALID'],
  ])('is refused for a draft whose row has %s, and nothing is released', async (_, sql, code) => {
    const { engine } = cells();
    await passDraft(cells(), { id, body: 'return 2' }, { version: '2.0.0' });
    tamper(cells().dataDir, `UPDATE drafts SET ${sql} WHERE id = '${id}'`);
    await expect(publishRelease(engine, { project: 'default', id, actor: author })).rejects.toMatchObject({ code });
    expect((await engine.releases.list({ project: 'default', id, limit: 9 })).map(({ ref }) => ref)).toEqual([
      released.ref,
    ]);
  });

  it('makes a draft that somebody marked as passed no release', async () => {
    const { engine } = cells();
    const passed = await passDraft(cells(), { id, body: 'return 2' }, { version: '2.0.0' });
    tamper(cells().dataDir, `UPDATE drafts SET revision = '${sha256Of('r')}' WHERE id = '${id}'`);
    await expect(publishRelease(engine, { project: 'default', id, actor: author })).rejects.toMatchObject({
      code: 'ARTIFACT_INVALID',
    });
    tamper(cells().dataDir, `UPDATE drafts SET revision = '${passed.revision}' WHERE id = '${id}'`);
    expect(await publishRelease(engine, { project: 'default', id, actor: author })).toMatchObject({ created: true });
  });
});

// Last: nothing is signed over a broken chain, so nothing can be published after it.
describe('the audit chain', () => {
  it('lets no release run that it does not tell of by one whole entry of the same artifact', async () => {
    const { engine, dataDir } = cells();
    const where = `WHERE action = 'release.published' AND subject = '${released.ref}'`;
    tamper(dataDir, 'CREATE TABLE kept AS SELECT * FROM audit');
    for (const forgery of [
      `UPDATE audit SET details_json = json_set(details_json, '$.artifact', '${sha256Of('a')}') ${where}`,
      `UPDATE audit SET actor = 'another' ${where}`,
      `UPDATE audit SET details_json = '{' ${where}`,
      `DELETE FROM audit ${where}`,
      `INSERT INTO audit SELECT seq + 1000000, at_ms, actor, project, action, subject, details_json, previous, hash FROM audit ${where}`,
    ]) {
      tamper(dataDir, forgery);
      await expectRefused('AUDIT_BROKEN', { ref: released.ref, digest: released.digest });
      tamper(dataDir, 'DELETE FROM audit; INSERT INTO audit SELECT * FROM kept');
    }
    tamper(dataDir, 'DROP TABLE kept');
    expect((await runReference(engine, id)).output).toBe('as released');
  });

  it('holds the receipt of each run: without its entry, or with another digest in it, the run does not verify', async () => {
    const { engine, dataDir } = cells();
    const key = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
    for (const forge of [
      (attempt: string) =>
        `UPDATE audit SET details_json = replace(details_json, 'sha256:', 'sha256:0') WHERE subject = '${attempt}'`,
      (attempt: string) => `UPDATE audit SET actor = 'another' WHERE subject = '${attempt}'`,
      (attempt: string) => `DELETE FROM audit WHERE subject = '${attempt}'`,
    ]) {
      const { run, attempt } = await runReference(engine, id);
      await expect(verifyRun(engine, 'default', run, [key])).resolves.toBeDefined();
      tamper(dataDir, forge(attempt));
      await expect(verifyRun(engine, 'default', run, [key])).rejects.toMatchObject({
        code: 'RECEIPT_MISMATCH',
        details: { differs: ['audit'] },
      });
    }
  });
});

function blobPath(digest: string): string {
  const name = digest.slice('sha256:'.length);
  const root = join(cells().dataDir, 'artifacts');
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith(name));
  return join(root, found ?? `blobs/sha256/${name}`);
}

function replace(path: string, bytes: Uint8Array | undefined): void {
  rmSync(path, { force: true });
  if (bytes === undefined) return;
  writeFileSync(path, bytes);
  chmodSync(path, 0o600);
}
