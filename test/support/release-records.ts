import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstance, sha256Of } from '@glovebox/artifact';
import { createArtifactStore } from '@glovebox/artifacts-oci';
import { newInstanceId, type Release, type Report } from '@glovebox/contract';
import { type Engine, ownIdentity, type PassedValidation } from '@glovebox/engine';
import { openStore } from '@glovebox/store-sqlite';

/** The parts of an engine that keep drafts, releases and the audit chain; real ones, without cells and artifacts. */
export type Records = Pick<Engine, 'store' | 'drafts' | 'releases' | 'audit' | 'signer' | 'keys' | 'now'>;

export interface TestRecords extends Records {
  /** Of the database. */
  path: string;
  close(): Promise<void>;
}

export async function openTestRecords(): Promise<TestRecords> {
  const dir = await mkdtemp(join(tmpdir(), 'glovebox-records-'));
  const path = join(dir, 'glovebox.db');
  const store = await openStore(path, { inThread: true });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyId = sha256Of(publicKey.export({ type: 'spki', format: 'der' })).slice('sha256:'.length);
  return {
    path,
    store: store.runs,
    drafts: store.drafts,
    releases: store.releases,
    audit: store.audit,
    signer: { instance: newInstanceId(), keyId, sign: async (bytes) => sign(null, bytes, privateKey) },
    keys: [publicKey.export({ type: 'spki', format: 'pem' }) as string],
    now: Date.now,
    async close() {
      await store.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The records and artifacts of a data directory: all that a release is, without what runs it. */
export async function openReleases(dataDir: string): Promise<TestRecords & Pick<Engine, 'artifacts'>> {
  const path = join(dataDir, 'glovebox.db');
  const { signer, publicKeyPem, retiredKeyPems } = await openInstance(dataDir);
  const store = await openStore(path, { inThread: true });
  return {
    path,
    store: store.runs,
    drafts: store.drafts,
    releases: store.releases,
    audit: store.audit,
    artifacts: createArtifactStore(join(dataDir, 'artifacts')),
    signer,
    keys: [publicKeyPem, ...retiredKeyPems],
    now: Date.now,
    close: () => store.close(),
  };
}

const actor = 'local:uid=0';

export interface DraftName {
  project?: string;
  id?: string;
  version?: string;
  /** Whatever makes the draft another one. */
  salt?: string;
}

/** Register a draft. Its snapshot is nowhere: only records are looked at. */
export async function putDraft(records: Records, name: DraftName = {}): Promise<{ revision: string; kind: string }> {
  const { project, id, version, salt } = named(name);
  const revision = sha256Of(`${id} ${version} ${salt}`);
  const subject = `${project}/${id}@${version}`;
  const { kind } = await records.drafts.put(
    { project, id, revision, version, title: `Title of ${id}`, snapshot: revision },
    { atMs: records.now(), actor, project, action: 'draft.put', subject, details: { revision } },
  );
  return { revision, kind };
}

/** Register a draft and begin a validation of it, which nobody goes on with. @returns its id. */
export async function beginValidation(records: Records, name: DraftName = {}): Promise<string> {
  const { project, id, version } = named(name);
  const { revision } = await putDraft(records, name);
  const subject = `${project}/${id}@${version}`;
  const validation = randomUUID();
  const owner = ownIdentity(records.signer.instance);
  const begun = await records.drafts.beginValidation(
    { project, id, revision, validation, owner, atMs: records.now() },
    { atMs: records.now(), actor, project, action: 'draft.validation-began', subject, details: {} },
  );
  if (begun !== 'begun') throw new Error(`the validation did not begin: ${begun}`);
  return validation;
}

/** Register a draft and let it pass, or fail, without looking at anything. */
export async function judgeDraft(records: Records, name: DraftName = {}, passes = true): Promise<PassedValidation> {
  const { project, id, version } = named(name);
  const validation = await beginValidation(records, name);
  const revision = (await records.drafts.get(project, id))?.draft.revision ?? '';
  const subject = `${project}/${id}@${version}`;
  const report: Report = {
    schema: 'glovebox.report/1',
    project,
    id,
    version,
    revision,
    valid: passes,
    checks: [],
    findings: [],
    toolchain: [],
  };
  const result = { artifact: sha256Of(`artifact ${revision}`), image: sha256Of('image'), permissions: sha256Of('may') };
  await records.drafts.endValidation(
    { validation, atMs: records.now(), report, result: passes ? result : null },
    { atMs: records.now(), actor, project, action: 'draft.validation-ended', subject, details: {} },
  );
  return result;
}

/** A release without an artifact behind it. */
export async function recordRelease(records: Records, name: DraftName = {}): Promise<Release> {
  const { project, id, version } = named(name);
  const passed = await judgeDraft(records, name);
  const revision = (await records.drafts.get(project, id))?.draft.revision ?? '';
  const atMs = records.now();
  const outcome = await records.releases.publish(
    { project, id, revision, passed, publishedBy: actor, atMs },
    { atMs, actor, project, action: 'release.published', subject: `${project}/${id}@${version}`, details: {} },
  );
  if (!('release' in outcome)) throw new Error(`nothing was released: ${outcome.kind}`);
  return outcome.release;
}

function named({
  project = 'default',
  id = 'some-node',
  version = '1.0.0',
  salt = '',
}: DraftName): Required<DraftName> {
  return { project, id, version, salt };
}
