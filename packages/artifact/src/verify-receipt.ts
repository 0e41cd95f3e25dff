import { GloveboxError, type ReceiptStatement, receiptStatementSchema } from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import {
  type CheckedStatement,
  checkStatement,
  type PinnedKeys,
  pinKeys,
  type StatementKind,
  type TrustedKeys,
} from './check-statement.ts';
import { subjectOf } from './sign-receipt.ts';

/** On success, `digest` is the name of the receipt in the record of its run. */
export type Verification = CheckedStatement<ReceiptStatement>;

const receiptKind: StatementKind<ReceiptStatement> = {
  what: 'receipt',
  codes: {
    unreadable: 'RECEIPT_UNREADABLE',
    keyUnknown: 'RECEIPT_KEY_UNKNOWN',
    signature: 'RECEIPT_SIGNATURE',
    invalid: 'RECEIPT_INVALID',
  },
  schema: receiptStatementSchema,
  fault: ({ subject, predicate }) =>
    canonicalJson(subject[0]) === canonicalJson(subjectOf(predicate))
      ? undefined
      : { what: 'its subject is not the attempt and bundle that it tells about', path: '/subject/0' },
};

/**
 * Check a receipt against keys that the caller trusts, as checkStatement does.
 *
 * @returns the statement, or what is wrong: `RECEIPT_UNREADABLE` not an envelope; `RECEIPT_KEY_UNKNOWN` by a key that is not pinned;
 *   `KEY_RETIRED` by a retired one; `RECEIPT_SIGNATURE` changed since it was signed; `RECEIPT_INVALID` signed, but not a receipt;
 *   `KEY_UNUSABLE` a pinned key is none.
 */
export function verifyReceipt(bytes: Uint8Array, trusted: TrustedKeys): Verification {
  let pinned: PinnedKeys;
  try {
    pinned = pinKeys(trusted);
  } catch (error) {
    if (error instanceof GloveboxError) return { ok: false, error: error.toData() };
    throw error;
  }
  return checkStatement(bytes, pinned, receiptKind);
}
