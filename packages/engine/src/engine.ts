import type { CellDriver } from '@glovebox/cell';
import type { BlobStore, BundleCache, ImageStore, PackageSource, ReceiptSigner, RunStore } from './ports.ts';

/** What the use cases work with. Made once, by the app, and passed to each. */
export interface Engine {
  readonly store: RunStore;
  readonly blobs: BlobStore;
  readonly images: ImageStore;
  readonly driver: CellDriver;
  readonly packages: PackageSource;
  readonly bundles: BundleCache;
  readonly signer: ReceiptSigner;
  readonly now: () => number;
  readonly monotonicMs: () => number;
}
