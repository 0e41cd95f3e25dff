import { generateKeyPairSync, sign } from 'node:crypto';
import { auditEntryHash, sha256Of, verifyAudit } from '@glovebox/artifact';
import type { AuditEntry } from '@glovebox/contract';
import { checkpointAudit, exportAudit, listAudit, verifyAuditChain } from '@glovebox/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestRecords, putDraft, type TestRecords } from '../support/release-records.ts';
import { tamperWith } from '../support/tamper.ts';

let records: TestRecords;
beforeEach(async () => {
  records = await openTestRecords();
});
afterEach(() => records.close());

/** Entries that are there before each test, the first three of them signed. */
async function fill(): Promise<void> {
  for (const id of ['node-a', 'node-b', 'node-c']) await putDraft(records, { id });
  await checkpointAudit(records);
  for (const id of ['node-d', 'node-e']) await putDraft(records, { id });
}

const verify = (keys = records.keys) => verifyAuditChain(records, { keys });
const broken = (seq: number) => ({ code: 'AUDIT_BROKEN', details: { seq } });

/** An entry as somebody would write it who knows how hashes are made, and those after it. */
function rewritten(entries: AuditEntry[], from: number, change: Partial<AuditEntry>): string {
  let previous = entries[from - 2]?.hash ?? '';
  return entries
    .slice(from - 1)
    .map((entry, i) => {
      const next = {
        ...entry,
        ...(i === 0 ? change : {}),
        previous: from === 1 && i === 0 ? entry.previous : previous,
      };
      previous = auditEntryHash(next);
      return `UPDATE audit SET actor = '${next.actor}', previous = '${next.previous}', hash = '${previous}' WHERE seq = ${entry.seq}`;
    })
    .join(';');
}

describe('an audit chain', () => {
  it('that nobody touched holds, with how far it is signed', async () => {
    expect(await verify()).toEqual({ entries: 0, head: null, checkpoints: 0, signedUpTo: 0 });
    await fill();
    const head = await records.audit.head();
    expect(await verify()).toEqual({ entries: 5, head: head?.hash, checkpoints: 1, signedUpTo: 3 });
    await checkpointAudit(records);
    expect(await verify()).toMatchObject({ entries: 5, checkpoints: 2, signedUpTo: 5 });
  });

  it.each<[what: string, sql: string, seq: number]>([
    ['another actor', `UPDATE audit SET actor = 'nobody' WHERE seq = 2`, 2],
    ['another time', `UPDATE audit SET at_ms = at_ms + 1 WHERE seq = 4`, 4],
    ['another subject', `UPDATE audit SET subject = 'x' WHERE seq = 1`, 1],
    ['other details', `UPDATE audit SET details_json = '{}' WHERE seq = 5`, 5],
    ['details that are no JSON', `UPDATE audit SET details_json = '{' WHERE seq = 4`, 4],
    ['another action', `UPDATE audit SET action = 'key.rotated' WHERE seq = 3`, 3],
    ['an unknown action', `UPDATE audit SET action = 'nothing' WHERE seq = 3`, 3],
    ['another hash', `UPDATE audit SET hash = previous WHERE seq = 3`, 3],
    ['an entry less', 'DELETE FROM audit WHERE seq = 2', 2],
    ['the first entry less', 'DELETE FROM audit WHERE seq = 1', 1],
    ['the end less, of what was signed', 'DELETE FROM audit WHERE seq >= 3', 3],
    ['nothing left', 'DELETE FROM audit', 1],
    [
      'two entries changed about',
      'UPDATE audit SET seq = 99 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 99',
      4,
    ],
    [
      'an entry at the end',
      `INSERT INTO audit SELECT 6, at_ms, actor, project, action, subject, details_json, hash, hash FROM audit WHERE seq = 5`,
      6,
    ],
  ])('with %s is broken, and where is told', async (_, sql, seq) => {
    await fill();
    await expect(verify()).resolves.toBeDefined();
    tamperWith(records.path, sql);
    await expect(verify()).rejects.toMatchObject(broken(seq));
  });

  it('rewritten from an entry on, hashes and all, is broken where it was signed', async () => {
    await fill();
    const entries = await listAudit(records);
    tamperWith(records.path, rewritten(entries, 2, { actor: 'nobody' }));
    await expect(verify()).rejects.toMatchObject(broken(3));
    // What nobody has signed could be rewritten by whoever has the database: that is what signing is for.
    tamperWith(records.path, rewritten(entries, 2, {}));
    tamperWith(records.path, rewritten(entries, 4, { actor: 'nobody' }));
    expect(await verify()).toMatchObject({ entries: 5, signedUpTo: 3 });
  });

  it('is vouched for by no other key, and by none that somebody put there', async () => {
    await fill();
    const other = generateKeyPairSync('ed25519');
    const pem = other.publicKey.export({ type: 'spki', format: 'pem' }) as string;
    await expect(verify([pem])).rejects.toMatchObject({ code: 'ATTESTATION_KEY_UNKNOWN' });
    expect(await verify([pem, ...records.keys])).toMatchObject({ signedUpTo: 3 });
    const forger = {
      ...records,
      keys: [pem, ...records.keys],
      signer: {
        ...records.signer,
        keyId: sha256Of(other.publicKey.export({ type: 'spki', format: 'der' })).slice('sha256:'.length),
        sign: async (bytes: Uint8Array) => sign(null, bytes, other.privateKey),
      },
    };
    await checkpointAudit(forger);
    await expect(verify()).rejects.toMatchObject({ code: 'ATTESTATION_KEY_UNKNOWN' });
  });

  it.each([
    ['of another number', 'UPDATE audit_checkpoints SET seq = 2'],
    ['of another hash', `UPDATE audit_checkpoints SET hash = '${sha256Of('h')}'`],
    ['cut short', `UPDATE audit_checkpoints SET envelope_text = substr(envelope_text, 2)`],
  ])('with a checkpoint %s is broken', async (_, sql) => {
    await fill();
    tamperWith(records.path, sql);
    await expect(verify()).rejects.toMatchObject({ code: 'AUDIT_BROKEN' });
  });

  it('of many pages is checked to its end', async () => {
    for (let i = 0; i < 1003; i++) await putDraft(records, { salt: String(i) });
    expect(await verify()).toMatchObject({ entries: 1003, signedUpTo: 0 });
    tamperWith(records.path, `UPDATE audit SET details_json = '[' WHERE seq = 1002`);
    await expect(verify()).rejects.toMatchObject(broken(1002));
    tamperWith(records.path, `UPDATE audit SET details_json = '{}' WHERE seq = 1003`);
    await expect(verify()).rejects.toMatchObject(broken(1002));
  });
});

describe('a checkpoint', () => {
  it('is made once for a head, and none for an empty chain', async () => {
    expect(await checkpointAudit(records)).toBeUndefined();
    await putDraft(records);
    const first = await checkpointAudit(records);
    expect(await checkpointAudit(records)).toEqual(first);
    expect(await records.audit.checkpoints()).toEqual([first]);
  });

  it('is made anew by a new key, over the same head', async () => {
    await putDraft(records);
    await checkpointAudit(records);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    const keyId = sha256Of(publicKey.export({ type: 'spki', format: 'der' })).slice('sha256:'.length);
    const rotated = {
      ...records,
      keys: [pem, ...records.keys],
      signer: { ...records.signer, keyId, sign: async (bytes: Uint8Array) => sign(null, bytes, privateKey) },
    };
    await checkpointAudit(rotated);
    await checkpointAudit(rotated);
    expect((await records.audit.checkpoints()).map(({ seq }) => seq)).toEqual([1, 1]);
    await expect(verifyAuditChain(records, { keys: [pem], retired: records.keys })).resolves.toMatchObject({
      signedUpTo: 1,
    });
    await putDraft(records, { salt: 'more' });
    await checkpointAudit({ ...records, keys: [...records.keys, pem] });
    await expect(verifyAuditChain(records, { keys: [pem], retired: records.keys })).rejects.toMatchObject({
      code: 'KEY_RETIRED',
    });
  });

  it.each([
    ['an entry after the last one was changed', `UPDATE audit SET actor = 'nobody' WHERE seq = 4`, 4],
    ['what the last one signed was changed', `UPDATE audit SET actor = 'nobody' WHERE seq = 3`, 3],
    ['what the last one signed is gone', 'DELETE FROM audit WHERE seq >= 3', 3],
  ])('is not made where %s', async (_, sql, seq) => {
    await fill();
    tamperWith(records.path, sql);
    await expect(checkpointAudit(records)).rejects.toMatchObject(broken(seq));
    expect((await records.audit.checkpoints()).length).toBe(1);
  });
});

describe('an export', () => {
  it('has all that it takes to check the chain elsewhere, a line each', async () => {
    await fill();
    const lines = [];
    for await (const text of exportAudit(records)) lines.push(JSON.parse(text));
    expect(lines[0]).toMatchObject({
      kind: 'glovebox.audit/1',
      instance: records.signer.instance,
      keyId: records.signer.keyId,
    });
    const entries = lines.filter(({ kind }) => kind === 'entry').map(({ entry }) => entry);
    const checkpoints = lines.filter(({ kind }) => kind === 'checkpoint').map(({ checkpoint }) => checkpoint);
    expect(lines.length).toBe(1 + entries.length + checkpoints.length);
    expect(entries).toEqual(await listAudit(records));
    expect(await verifyAudit(entries, checkpoints, { keys: records.keys })).toMatchObject({ ok: true, signedUpTo: 3 });
    entries[1].actor = 'nobody';
    expect(await verifyAudit(entries, checkpoints, { keys: records.keys })).toMatchObject({ error: broken(2) });
  });
});

describe('a list', () => {
  it('is of a project, an action or a subject, and goes on after a number', async () => {
    await fill();
    await putDraft(records, { project: 'other', id: 'node-z' });
    const seqs = async (query: Parameters<typeof listAudit>[1]) =>
      (await listAudit(records, query)).map(({ seq }) => seq);
    expect(await seqs({ project: 'other' })).toEqual([6]);
    expect(await seqs({ subject: 'default/node-b@1.0.0' })).toEqual([2]);
    expect(await seqs({ action: 'draft.put', after: 2, limit: 2 })).toEqual([3, 4]);
    expect(await seqs({ action: 'key.rotated' })).toEqual([]);
  });
});
