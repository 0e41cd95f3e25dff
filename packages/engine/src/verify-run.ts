import { compareReceipt, sha256Of, verifyReceipt } from '@glovebox/artifact';
import { GloveboxError, type ReceiptStatement } from '@glovebox/contract';
import { logDigest } from './attempt/log-intake.ts';
import type { RunStore } from './ports.ts';

/**
 * Verify the receipt of a run's last attempt, and hold it against everything that the store has of the attempt.
 *
 * @param keys public keys in PEM that are trusted; no other key counts.
 * @throws GloveboxError `NOT_FOUND`, `RECEIPT_*`.
 */
export async function verifyRun(
  store: RunStore,
  project: string,
  runId: string,
  keys: readonly string[],
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
  const verified = verifyReceipt(Buffer.from(end.receiptText), { keys: [...keys] });
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
    inputText: found.run.inputText,
    configText: found.run.configText,
    outputText: end.outputText,
    logDigest: logDigest(await store.logs(attempt.id)),
    files: end.files,
    node: found.run.node,
    bundleDigest: end.bundleDigest,
    imageDigest: end.imageDigest,
  });
  if (mismatch) throw GloveboxError.fromData(mismatch);
  return { statement: verified.statement, keyId: verified.keyId };
}
