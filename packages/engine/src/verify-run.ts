import { auditEntryHash, compareReceipt, sha256Of, verifyReceipt } from '@glovebox/artifact';
import { GloveboxError, type ReceiptStatement } from '@glovebox/contract';
import { logDigest } from './attempt/log-intake.ts';
import type { Engine } from './engine.ts';
import type { AuditLog } from './ports.ts';

/**
 * Verify the receipt of a run's last attempt, and hold it against what the store tells of the attempt, and against the
 * entry of the audit chain that has its digest. The chain as a whole is for verifyAuditChain.
 *
 * @param keys public keys in PEM that are trusted; no other key counts.
 * @param retired those that once were; one that is among `keys` too is trusted.
 * @throws GloveboxError `NOT_FOUND`, `RECEIPT_*`, `KEY_RETIRED`.
 */
export async function verifyRun(
  { store, audit }: Pick<Engine, 'store' | 'audit'>,
  project: string,
  runId: string,
  keys: readonly string[],
  retired: readonly string[] = [],
): Promise<{ statement: ReceiptStatement; keyId: string }> {
  const found = await store.get(project, runId);
  const attempt = found?.attempts.at(-1);
  if (!found || !attempt)
    throw new GloveboxError('NOT_FOUND', { message: `There is no run ${runId}.`, hint: 'See glovebox run list.' });
  const { end } = attempt;
  if (!end?.receiptText) {
    throw new GloveboxError('NOT_FOUND', {
      message: `Run ${runId} has no receipt.`,
      hint: 'Only attempts that had a cell have one.',
    });
  }
  const verified = verifyReceipt(Buffer.from(end.receiptText), { keys, retired });
  if (!verified.ok) throw GloveboxError.fromData(verified.error);
  if (sha256Of(end.receiptText) !== end.receiptDigest) {
    throw new GloveboxError('RECEIPT_MISMATCH', {
      message: `The stored receipt of ${runId} does not have the digest that was recorded with it.`,
    });
  }
  const mismatch = compareReceipt(verified.statement, {
    attempt: attempt.id,
    run: found.run.id,
    state: attempt.state,
    project: found.run.project,
    actor: found.run.actor,
    mode: found.run.mode,
    release: found.run.release,
    inputText: found.run.inputText,
    configText: found.run.configText,
    outputText: end.outputText,
    logDigest: logDigest(await store.logs(attempt.id)),
    logBytes: end.logBytes,
    limits: found.run.limits,
    phasesMs: end.phasesMs,
    peaks: end.peaks,
    files: end.files,
    node: found.run.node,
    bundleDigest: end.bundleDigest,
    imageDigest: end.imageDigest,
  });
  if (mismatch) throw GloveboxError.fromData(mismatch);
  if (!(await isAudited(audit, attempt.id, end.receiptDigest))) {
    throw new GloveboxError('RECEIPT_MISMATCH', {
      message: `The audit chain does not hold the receipt of ${runId}.`,
      details: { differs: ['audit'] },
    });
  }
  return { statement: verified.statement, keyId: verified.keyId };
}

/** An attempt ends once, so there is one entry; a second one was put there by somebody else. */
async function isAudited(audit: AuditLog, attemptId: string, receiptDigest: string): Promise<boolean> {
  const [entry, ...others] = await audit.list({ action: 'attempt.ended', subject: attemptId, limit: 2 });
  if (entry === undefined || others.length > 0) return false;
  return entry.details.receiptDigest === receiptDigest && auditEntryHash(entry) === entry.hash;
}
