import {
  GloveboxError,
  type Json,
  type ReceiptPredicate,
  receiptPredicateType,
  receiptStatementSchema,
  statementType,
} from '@glovebox/contract';
import { type SignedStatement, type StatementSigner, signStatement } from './sign-statement.ts';

/** The subject of a receipt: the attempt, by the digest of the bundle that it ran. */
export function subjectOf(predicate: ReceiptPredicate): { name: string; digest: { sha256: string } } {
  return { name: `attempt/${predicate.attempt}`, digest: { sha256: predicate.node.bundle.slice('sha256:'.length) } };
}

/**
 * Sign what one attempt was and did; see signStatement.
 *
 * @throws GloveboxError `INTERNAL` when the predicate is not one that `verifyReceipt` would accept.
 */
export async function signReceipt(predicate: ReceiptPredicate, signer: StatementSigner): Promise<SignedStatement> {
  if (predicate.instance !== signer.instance) {
    throw new GloveboxError('INTERNAL', { message: 'the receipt names another instance than the one that signs' });
  }
  const statement = {
    _type: statementType,
    subject: [subjectOf(predicate)],
    predicateType: receiptPredicateType,
    predicate: predicate as unknown as Json,
  } as const;
  return signStatement({ ...statement, subject: [...statement.subject] }, signer, receiptStatementSchema);
}
