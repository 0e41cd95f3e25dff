export {
  type AttestedArtifact,
  type BuildCircumstances,
  provenanceStatement,
  releaseStatement,
  reportStatement,
  sbomStatement,
} from './attestations.ts';
export { auditChainStart, auditEntryHash } from './audit.ts';
export { canonicalJson } from './canonical.ts';
export { checkAttestations, type VerifiedAttestation } from './check-attestations.ts';
export {
  type CheckedStatement,
  checkStatement,
  type PinnedKeys,
  pinKeys,
  type StatementKind,
  type TrustedKeys,
} from './check-statement.ts';
export { signCheckpoint } from './checkpoints.ts';
export { compareReceipt, type RecordedAttempt } from './compare-receipt.ts';
export { type ArtifactParts, type ComposedArtifact, composeArtifact } from './compose-artifact.ts';
export { sha256Of } from './digest.ts';
export { maxEnvelopeBytes } from './envelope.ts';
export { type Instance, openInstance, readOwnKeys, readPublicKey } from './instance.ts';
export { readTrustedKeys, type TrustedKeyTexts } from './key-list.ts';
export { type LayoutReader, openLayout } from './layout-reader.ts';
export { type LoadedArtifact, loadArtifact, type ReadBlob, readDescribed } from './load-artifact.ts';
export { describeBlob, emptyConfig, encodeReferrerManifest, referrersTag } from './oci-manifest.ts';
export { permissionsDigest, permissionsOf } from './permissions.ts';
export { readAttestations, readIndex } from './referrers.ts';
export { type KeyRotation, rotateSigningKey } from './rotate-key.ts';
export { composeSbom } from './sbom.ts';
export { signReceipt } from './sign-receipt.ts';
export { type SignedStatement, type StatementSigner, signStatement } from './sign-statement.ts';
export { decodeSnapshot, encodeSnapshot } from './snapshot.ts';
export { tarEnd, tarHeader, tarPadding } from './tar.ts';
export { type ArtifactVerification, verifyArtifact } from './verify-artifact.ts';
export { type AuditVerification, verifyAudit } from './verify-audit.ts';
export { verifyAuditExport } from './verify-audit-export.ts';
export { type Verification, verifyReceipt } from './verify-receipt.ts';
