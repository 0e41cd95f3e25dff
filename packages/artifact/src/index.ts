export { auditChainStart, auditEntryHash } from './audit.ts';
export { canonicalJson } from './canonical.ts';
export { compareReceipt, type RecordedAttempt } from './compare-receipt.ts';
export { sha256Of } from './digest.ts';
export { maxReceiptBytes } from './envelope.ts';
export { type Instance, openInstance, readPublicKey } from './instance.ts';
export { permissionsDigest, permissionsOf } from './permissions.ts';
export { type ReceiptSigner, signReceipt } from './sign-receipt.ts';
export { type Verification, verifyReceipt } from './verify-receipt.ts';
