import type { AuditCheckpoint, AuditEntry } from '@glovebox/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeKey } from '../test/support/predicate.ts';
import { auditChainStart, auditEntryHash } from './audit.ts';
import { signCheckpoint, verifyAuditExport } from './index.ts';

const key = makeKey();
const trusted = { keys: [key.publicKeyPem] };

function chain(length: number): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (let seq = 1; seq <= length; seq++) {
    const unhashed = {
      atMs: seq,
      actor: 'local:uid=0',
      project: 'default',
      action: 'draft.put' as const,
      subject: 'default/node-a',
      details: {},
      seq,
      previous: entries.at(-1)?.hash ?? auditChainStart,
    };
    entries.push({ ...unhashed, hash: auditEntryHash(unhashed) });
  }
  return entries;
}

const entries = chain(4);
const head = { kind: 'glovebox.audit/1', instance: 'x', keyId: 'x', exportedAt: 'x' };
let checkpoint: AuditCheckpoint;
let whole: object[];
beforeAll(async () => {
  checkpoint = await signCheckpoint({ seq: 3, hash: entries[2]?.hash ?? '' }, 1, key.signer);
  whole = [head, ...entries.map((entry) => ({ kind: 'entry', entry })), { kind: 'checkpoint', checkpoint }];
});

const verify = (lines: (object | string)[]) =>
  verifyAuditExport(async function* () {
    for (const line of lines) yield typeof line === 'string' ? line : JSON.stringify(line);
  }, trusted);

describe('an export of an audit chain', () => {
  it('verifies by the key that signed, wherever its checkpoints stand', async () => {
    const good = { ok: true, entries: 4, head: entries[3]?.hash, signedUpTo: 3, keyId: key.signer.keyId };
    expect(await verify(whole)).toEqual(good);
    expect(await verify([whole[0] as object, whole[5] as object, ...whole.slice(1, 5)])).toEqual(good);
  });

  it('is refused where no pinned key has signed any of it, also where it is empty', async () => {
    const unsigned = { ok: false, error: { code: 'AUDIT_UNSIGNED' } };
    expect(await verify(whole.slice(0, -1))).toMatchObject(unsigned);
    expect(await verify([head])).toMatchObject(unsigned);
  });

  it.each<[string, () => (object | string)[], number]>([
    ['nothing', () => [], 1],
    ['no head', () => whole.slice(1), 1],
    ['a head of another version', () => [{ ...head, kind: 'glovebox.audit/2' }, ...whole.slice(1)], 1],
    ['a second head', () => whole.toSpliced(2, 0, head), 3],
    ['a line of another kind', () => whole.toSpliced(2, 0, { kind: 'note' }), 3],
    ['an empty line', () => [...whole, ''], 7],
    ['a line that is cut short', () => [...whole, '{"kind":"ent'], 7],
    ['a list', () => [...whole, '[]'], 7],
    ['null', () => [...whole, 'null'], 7],
    ['a line that nests without end', () => [...whole, '['.repeat(100_000)], 7],
  ])('with %s is broken at that line', async (_, lines, line) => {
    expect(await verify(lines())).toMatchObject({ ok: false, error: { code: 'AUDIT_BROKEN', place: { line } } });
  });

  it('is judged as the chain that it holds', async () => {
    expect(await verify(whole.toSpliced(2, 1))).toMatchObject({ error: { code: 'AUDIT_BROKEN', details: { seq: 2 } } });
    const other = makeKey();
    const signed = await signCheckpoint({ seq: 4, hash: entries[3]?.hash ?? '' }, 1, other.signer);
    expect(await verify([...whole, { kind: 'checkpoint', checkpoint: signed }])).toMatchObject({
      error: { code: 'ATTESTATION_KEY_UNKNOWN' },
    });
  });
});
