import { type AuditAction, GloveboxError, type Release } from '@glovebox/contract';
import { type AuditSigning, checkpointAudit } from '../audit/checkpoint-audit.ts';
import type { Engine } from '../engine.ts';
import { refuseRevoked, resolveExactRelease } from './resolve-release.ts';

/** Most characters of a reason. */
export const maxReasonLength = 500;

export interface ReleaseChange {
  project: string;
  /** With version or digest. */
  reference: string;
  actor: string;
}

/** The parts of an engine that changing a release takes. */
export type ReleaseRecords = Pick<Engine, 'releases'> & AuditSigning;

export interface ChangedRelease {
  release: Release;
  /** Whether this call changed it: the same again does not, and keeps the first reason. */
  changed: boolean;
}

/**
 * Warn of a release from now on; it can still be run.
 *
 * @param change its reason says what to use instead, in one line.
 * @throws GloveboxError `REQUEST_INVALID` for a reason that is none, `REFERENCE_INVALID`, `NOT_FOUND`, `RELEASE_REVOKED`.
 */
export async function deprecateRelease(
  engine: ReleaseRecords,
  change: ReleaseChange & { reason: string },
): Promise<ChangedRelease> {
  return setState(engine, change, 'deprecated', requireReason(change.reason));
}

/** Take a deprecation back. @throws GloveboxError `REFERENCE_INVALID`, `NOT_FOUND`, `RELEASE_REVOKED`. */
export function undeprecateRelease(engine: ReleaseRecords, change: ReleaseChange): Promise<ChangedRelease> {
  return setState(engine, change, 'active', null);
}

/**
 * Refuse every later run of a release, for good. What is running goes on; records stay readable.
 *
 * @throws GloveboxError `REQUEST_INVALID` for a reason that is none, `REFERENCE_INVALID`, `NOT_FOUND`; and `AUDIT_BROKEN` once it is
 *   revoked, where the audit chain could not be signed.
 */
export async function revokeRelease(
  engine: ReleaseRecords,
  change: ReleaseChange & { reason: string },
): Promise<ChangedRelease> {
  const revoked = await setState(engine, change, 'revoked', requireReason(change.reason));
  // Also when nothing changed: the process that revoked it may have died before it signed.
  await checkpointAudit(engine);
  return revoked;
}

const actions = {
  active: 'release.undeprecated',
  deprecated: 'release.deprecated',
  revoked: 'release.revoked',
} as const satisfies Record<Release['state'], AuditAction>;

async function setState(
  engine: ReleaseRecords,
  { project, reference, actor }: ReleaseChange,
  state: Release['state'],
  reason: string | null,
): Promise<ChangedRelease> {
  const { ref, id, version, digest } = await resolveExactRelease(engine.releases, project, reference);
  const atMs = engine.now();
  const outcome = await engine.releases.setState(
    { project, id, version, state, reason, atMs },
    { atMs, actor, project, action: actions[state], subject: ref, details: { digest, reason } },
  );
  switch (outcome.kind) {
    case 'changed':
    case 'unchanged':
      return { release: outcome.release, changed: outcome.kind === 'changed' };
    case 'revoked': {
      const release = await resolveExactRelease(engine.releases, project, ref);
      if (state !== 'revoked') refuseRevoked(release);
      return { release, changed: false };
    }
    case 'absent':
      throw new GloveboxError('NOT_FOUND', { message: `There is no release ${ref}.` });
  }
}

/** One line of text: it is shown in lists, in refusals and in the audit chain. */
function requireReason(unsafeReason: string): string {
  const reason = unsafeReason.trim();
  if (
    reason.length > 0 &&
    reason.length <= maxReasonLength &&
    reason.isWellFormed() &&
    !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(reason)
  )
    return reason;
  throw new GloveboxError('REQUEST_INVALID', {
    message: 'The reason is not usable.',
    hint: `Say in one line of at most ${maxReasonLength} characters why.`,
    place: { path: '/reason' },
  });
}
