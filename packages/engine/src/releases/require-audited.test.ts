import { auditEntryHash } from '@glovebox/artifact';
import { type AuditAction, type AuditEntry, GloveboxError, type Release } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { requireAudited } from './require-audited.ts';

const digest = (character: string): string => `sha256:${character.repeat(64)}`;

const release: Release = {
  ref: 'default/invoice-totals@1.0.0',
  project: 'default',
  id: 'invoice-totals',
  version: '1.0.0',
  title: 'Invoice totals',
  digest: digest('a'),
  revision: digest('b'),
  image: digest('c'),
  permissions: digest('d'),
  state: 'active',
  reason: null,
  publishedBy: 'local',
  publishedAt: '2026-01-01T00:00:00.000Z',
  changedAt: '2026-01-01T00:00:00.000Z',
};

function entry(action: AuditAction, details: AuditEntry['details'], seq = 1): AuditEntry {
  const covered: Omit<AuditEntry, 'hash'> = {
    seq,
    atMs: 1_767_225_600_000,
    actor: 'local',
    project: 'default',
    action,
    subject: release.ref,
    details,
    previous: digest('0'),
  };
  return { ...covered, hash: auditEntryHash(covered) };
}

const published = entry('release.published', { artifact: release.digest });
const revoked = entry('release.revoked', { reason: 'leaks' }, 2);

/** The code with which a release is refused, given what is in the chain; undefined when it is not. */
async function outcome(entries: AuditEntry[], of: Release = release): Promise<string | undefined> {
  const list = async ({ action }: { action?: string }) => entries.filter((one) => one.action === action);
  try {
    await requireAudited({ list }, of);
    return undefined;
  } catch (error) {
    return GloveboxError.is(error) ? error.code : String(error);
  }
}

describe('a release', () => {
  it('is not refused where the chain released it, once, and did not revoke it', async () => {
    expect(await outcome([published])).toBeUndefined();
  });

  it('is refused where the chain does not tell of it', async () => {
    expect(await outcome([])).toBe('AUDIT_BROKEN');
  });

  it('is refused where the chain released another artifact under its name', async () => {
    expect(await outcome([entry('release.published', { artifact: digest('e') })])).toBe('AUDIT_BROKEN');
  });

  it('is refused where its name was released twice', async () => {
    expect(await outcome([published, entry('release.published', { artifact: release.digest }, 2)])).toBe(
      'AUDIT_BROKEN',
    );
  });

  it('is refused where the entry that released it was written over', async () => {
    const other = entry('release.published', { artifact: digest('e') });
    expect(await outcome([{ ...other, details: { artifact: release.digest } }])).toBe('AUDIT_BROKEN');
  });

  it('is refused when the chain tells that it was revoked, though its row be active', async () => {
    expect(await outcome([published, revoked])).toBe('RELEASE_REVOKED');
  });

  it('is refused also where the entry that revoked it was written over', async () => {
    expect(await outcome([published, { ...revoked, actor: 'nobody' }])).toBe('AUDIT_BROKEN');
  });

  it('is left to its row where that says itself that it is revoked', async () => {
    expect(await outcome([published, revoked], { ...release, state: 'revoked', reason: 'leaks' })).toBeUndefined();
  });
});
