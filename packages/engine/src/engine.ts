import type { CellDriver } from '@glovebox/cell';
import type { CellClass } from '@glovebox/contract';
import type { Egress, Resolver } from '@glovebox/egress';
import type {
  ArtifactStore,
  AuditLog,
  BlobStore,
  BundleCache,
  CheckCache,
  DraftStore,
  EgressLog,
  EgressPolicies,
  ImageStore,
  PackagePolicy,
  PackageSource,
  ReceiptSigner,
  ReleaseStore,
  RunStore,
} from './ports.ts';
import type { Turns } from './validate/turns.ts';

/** What the use cases work with. Made once, by the app, and passed to each. */
export interface Engine {
  readonly store: RunStore;
  readonly drafts: DraftStore;
  readonly releases: ReleaseStore;
  readonly audit: AuditLog;
  readonly artifacts: ArtifactStore;
  readonly checks: CheckCache;
  /** Of all validations of the process. */
  readonly checkTurns: Turns;
  readonly blobs: BlobStore;
  readonly images: ImageStore;
  readonly driver: CellDriver;
  /** What nodes reach, and how. */
  readonly egress: Egress;
  readonly egressLog: EgressLog;
  readonly egressPolicies: EgressPolicies;
  /** Looks names up for people who ask what a policy says of them; nodes have the dialer's. */
  readonly resolver: Resolver;
  /** Isolation class of every cell, of author code and of our own tools. */
  readonly cellClass: CellClass;
  readonly packages: PackageSource;
  /** Of validations; a trial run is held to none. */
  readonly packagePolicy: PackagePolicy;
  readonly bundles: BundleCache;
  readonly signer: ReceiptSigner;
  /**
   * The instance's own public keys in PEM, the current one first, then those that it has retired. Here, what any of them
   * signed counts: whoever could add to this list could as well sign with the current one.
   */
  readonly keys: readonly string[];
  readonly now: () => number;
  readonly monotonicMs: () => number;
  /** Milliseconds since boot, suspended time included: `openFenceClock` of @glovebox/egress, for it is asked before every piece. */
  readonly bootMs: () => number;
}

/** Open parts of the engine, each at its first use: a call that lists runs must not start what builds nodes. */
export type OpenParts = <Name extends keyof Engine>(...names: Name[]) => Promise<Pick<Engine, Name>>;

/** Everything, for use cases that build or run. */
export const openEngine = (open: OpenParts): Promise<Engine> =>
  open(
    'store',
    'drafts',
    'releases',
    'audit',
    'artifacts',
    'checks',
    'checkTurns',
    'blobs',
    'images',
    'driver',
    'egress',
    'egressLog',
    'egressPolicies',
    'resolver',
    'cellClass',
    'packages',
    'packagePolicy',
    'bundles',
    'signer',
    'keys',
    'now',
    'monotonicMs',
    'bootMs',
  );
