import type { CellDriver } from '@glovebox/cell';
import type {
  ArtifactStore,
  AuditLog,
  BlobStore,
  BundleCache,
  CheckCache,
  DraftStore,
  ImageStore,
  PackageSource,
  ReceiptSigner,
  ReleaseStore,
  RunStore,
} from './ports.ts';

/** What the use cases work with. Made once, by the app, and passed to each. */
export interface Engine {
  readonly store: RunStore;
  readonly drafts: DraftStore;
  readonly releases: ReleaseStore;
  readonly audit: AuditLog;
  readonly artifacts: ArtifactStore;
  readonly checks: CheckCache;
  readonly blobs: BlobStore;
  readonly images: ImageStore;
  readonly driver: CellDriver;
  readonly packages: PackageSource;
  readonly bundles: BundleCache;
  readonly signer: ReceiptSigner;
  /**
   * The instance's own public keys in PEM, the current one first, then those that it has retired. Here, what any of them
   * signed counts: whoever could add to this list could as well sign with the current one.
   */
  readonly keys: readonly string[];
  readonly now: () => number;
  readonly monotonicMs: () => number;
}
