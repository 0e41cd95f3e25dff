import type { AuditCheckpoint, AuditEntry } from '@glovebox/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeKey, type TestKey } from '../test/support/predicate.ts';
import { auditChainStart, auditEntryHash } from './audit.ts';
import { signCheckpoint, verifyAudit } from './index.ts';

const key = makeKey();
const other = makeKey();

function chain(length: number, from = 1, actor = 'local:uid=0'): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (let seq = 1; seq <= length; seq++) {
    const unhashed = {
      atMs: 1_767_323_045_678 + seq,
      actor,
      project: 'default',
      action: 'draft.put' as const,
      subject: `default/node-${seq}`,
      details: { revision: 'x' },
      seq,
      previous: entries.at(-1)?.hash ?? auditChainStart,
    };
    entries.push({ ...unhashed, hash: auditEntryHash(unhashed) });
  }
  return entries.slice(from - 1);
}

const entries = chain(6);
const checkpointAt = (seq: number, by: TestKey = key, of = entries): Promise<AuditCheckpoint> =>
  signCheckpoint({ seq, hash: of[seq - 1]?.hash ?? '' }, 1_767_323_045_678, by.signer);
let checkpoints: AuditCheckpoint[];
beforeAll(async () => {
  checkpoints = [await checkpointAt(4), await checkpointAt(2)];
});

const keys = [key.publicKeyPem];
const broken = (seq: number) => ({
  ok: false,
  error: { code: 'AUDIT_BROKEN', details: { seq }, place: { path: `/entries/${seq - 1}` } },
});

it('has this hash for this entry, for ever', () => {
  expect(entries[0]?.hash).toBe('sha256:33d43e52cd625f55262ea1f69501d001b8fd25fee86944cbbb7d5b91b1820ab1');
  expect(auditEntryHash(entries[0] as AuditEntry)).toBe(entries[0]?.hash);
});

describe('an audit chain', () => {
  it('holds, and tells how far it is signed', async () => {
    const head = entries[5]?.hash;
    const { keyId } = key.signer;
    const holds = { ok: true, entries: 6, head };
    expect(await verifyAudit(entries, checkpoints, { keys })).toEqual({ ...holds, signedUpTo: 4, keyId });
    expect(await verifyAudit(entries, [], { keys })).toEqual({ ...holds, signedUpTo: 0, keyId: null });
    const empty = { ok: true, entries: 0, head: null, signedUpTo: 0, keyId: null };
    expect(await verifyAudit([], [], { keys })).toEqual(empty);
  });

  it('holds from an entry on, when that is known', async () => {
    const { seq, hash } = entries[2] as AuditEntry;
    const result = await verifyAudit(chain(6, 4), checkpoints, { keys }, { seq, hash });
    expect(result).toEqual({
      ok: true,
      entries: 6,
      head: entries[5]?.hash,
      signedUpTo: 4,
      keyId: key.signer.keyId,
    });
    expect(await verifyAudit(chain(6, 4), checkpoints, { keys }, { seq, hash: auditChainStart })).toMatchObject(
      broken(4),
    );
    expect(await verifyAudit(chain(6, 4), checkpoints, { keys })).toMatchObject(broken(1));
  });

  it('holds as it streams', async () => {
    async function* stream() {
      yield* entries;
    }
    expect(await verifyAudit(stream(), checkpoints, { keys })).toMatchObject({ ok: true, entries: 6 });
  });

  const edited = (seq: number, over: object): unknown[] =>
    entries.map((entry) => (entry.seq === seq ? { ...entry, ...over } : entry));
  const rehashed = (seq: number, over: object): unknown[] =>
    edited(seq, { ...over, hash: auditEntryHash({ ...(entries[seq - 1] as AuditEntry), ...over }) });

  it.each<[string, number, () => unknown[]]>([
    ['an actor that was changed', 3, () => edited(3, { actor: 'local:uid=1' })],
    ['a time that was changed', 3, () => edited(3, { atMs: 1 })],
    ['details that were changed', 3, () => edited(3, { details: {} })],
    ['a hash that was changed', 3, () => edited(3, { hash: auditChainStart })],
    ['an entry that was written anew, with its hash', 4, () => rehashed(3, { actor: 'x' })],
    ['a last entry that was written anew', 6, () => edited(6, { subject: 'x' })],
    ['an entry that was removed', 3, () => entries.filter(({ seq }) => seq !== 3)],
    ['a first entry that was removed', 1, () => entries.slice(1)],
    ['two entries that changed places', 3, () => [0, 1, 3, 2, 4, 5].map((i) => entries[i])],
    ['an entry twice', 4, () => [0, 1, 2, 2, 3, 4, 5].map((i) => entries[i])],
    ['a field more', 3, () => edited(3, { extra: 1 })],
    ['a field less', 3, () => edited(3, { actor: undefined })],
    ['half a surrogate pair', 3, () => edited(3, { actor: '\ud800' })],
    [
      'details that nest without end',
      3,
      () => edited(3, { details: { x: JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) } }),
    ],
    ['what is no entry', 3, () => edited(3, { seq: 'x' })],
    ['the end cut off before what was signed', 4, () => entries.slice(0, 3)],
    ['nothing left', 1, () => []],
    ['all of it written anew', 2, () => chain(6, 1, 'forger')],
  ])('is broken with %s', async (_what, seq, make) => {
    expect(await verifyAudit(make(), checkpoints, { keys })).toMatchObject(broken(seq));
  });
});

describe('checkpoints', () => {
  it('must be by a pinned key, or by a retired one with a later one after it', async () => {
    const verify = async (given: AuditCheckpoint[], trusted: Parameters<typeof verifyAudit>[2]) => {
      const result = await verifyAudit(entries, given, trusted);
      return result.ok ? result.signedUpTo : result.error.code;
    };
    const rotated = { keys: [other.publicKeyPem], retired: keys };
    expect(await verify(checkpoints, { keys: [other.publicKeyPem] })).toBe('ATTESTATION_KEY_UNKNOWN');
    expect(await verify(checkpoints, { keys: [] })).toBe('ATTESTATION_KEY_UNKNOWN');
    expect(await verify(checkpoints, rotated)).toBe('KEY_RETIRED');
    expect(await verify([...checkpoints, await checkpointAt(3, other)], rotated)).toBe('KEY_RETIRED');
    expect(await verify([...checkpoints, await checkpointAt(4, other)], rotated)).toBe(4);
    expect(await verify([await checkpointAt(6, other), ...checkpoints], rotated)).toBe(6);
    expect(await verify(checkpoints, { keys: ['x'] })).toBe('KEY_UNUSABLE');
  });

  it.each<[string, (checkpoint: AuditCheckpoint) => unknown]>([
    ['another number', (checkpoint) => ({ ...checkpoint, seq: 3 })],
    ['another hash', (checkpoint) => ({ ...checkpoint, hash: auditChainStart })],
    [
      'a signature that does not hold',
      (checkpoint) => ({ ...checkpoint, envelopeText: checkpoint.envelopeText.replace(/"sig":"..../, '"sig":"AAAA') }),
    ],
    ['an envelope that is none', (checkpoint) => ({ ...checkpoint, envelopeText: 'x' })],
    ['nothing', () => null],
  ])('are broken with %s', async (_what, spoil) => {
    const given = [checkpoints[0], spoil(checkpoints[1] as AuditCheckpoint)];
    expect(await verifyAudit(entries, given, { keys })).toMatchObject({
      ok: false,
      error: { code: 'AUDIT_BROKEN', place: { path: '/checkpoints/1' } },
    });
  });

  it('must be of one instance', async () => {
    const stranger = { ...key.signer, instance: `ins_${'0'.repeat(22)}` as typeof key.signer.instance };
    const foreign = await signCheckpoint({ seq: 2, hash: entries[1]?.hash ?? '' }, 0, stranger);
    expect(await verifyAudit(entries, [...checkpoints, foreign], { keys })).toMatchObject({
      ok: false,
      error: { code: 'AUDIT_BROKEN' },
    });
  });

  it('cost no more than their text where one is there many times, and each copy still has to be of its row', async () => {
    const many = Array<AuditCheckpoint>(40_000).fill(checkpoints[0] as AuditCheckpoint);
    expect(await verifyAudit(entries, many, { keys })).toMatchObject({ ok: true, signedUpTo: 4 });
    const moved = { ...checkpoints[0], seq: 3 };
    expect(await verifyAudit(entries, [...many, moved], { keys })).toMatchObject({
      ok: false,
      error: { code: 'AUDIT_BROKEN', place: { path: '/checkpoints/40000' } },
    });
  }, 8000);

  it('over one entry must all be over that one', async () => {
    const rewritten = chain(6, 1, 'forger');
    const given = [await checkpointAt(4), await checkpointAt(4, key, rewritten)];
    expect(await verifyAudit(entries, given, { keys })).toMatchObject(broken(4));
    expect(await verifyAudit(entries, given.toReversed(), { keys })).toMatchObject(broken(4));
  });

  it('are not made for a hash that is none', async () => {
    await expect(signCheckpoint({ seq: 1, hash: 'x' }, 0, key.signer)).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});
