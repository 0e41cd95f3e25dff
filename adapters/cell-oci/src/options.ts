import { join, resolve } from 'node:path';
import { defaultClaimsDirectory } from '@glovebox/cell/host';
import type { AcceptableRisk, InstanceId } from '@glovebox/contract';
import type { OciSpec } from './oci-spec.ts';
import type { RuntimeChoice } from './runtime.ts';

/** Stands in receipts. */
export const driverName = 'oci';

export interface OciDriverOptions {
  /** Whose cells these are; stands in every name that the driver makes on the host. */
  instance: InstanceId;
  /** `run/` of the data directory; bundles go to `cells/` in it. Made when it is not there. */
  runDirectory: string;
  /** Root directory of an unpacked image. May throw `IMAGE_MISSING`. */
  rootfsOf(digest: string): string;
  /** For `ns` crun, else runc, and for `gvisor` runsc, where it is left out or is a runtime of the other class. */
  runtime?: RuntimeChoice;
  /** What the administrator accepts to go without; cells that do go without it say so in their facts. */
  acceptedRisks?: readonly AcceptableRisk[];
  /** Where the whole host's uid claims are. Every driver on a host must be given the same. */
  claimsDirectory?: string;
  /** From the start of a boot to the runtime having made the container. */
  bootDeadlineMs?: number;
  /** How many boots of this driver may be under way; others wait. Two for each processor, and four at least, where it is left out. */
  bootsAtOnce?: number;
  /** For each question to a program of the host, such as the runtime's version. */
  programDeadlineMs?: number;
  /** Tests and the demo only: change what the runtime is told. The cell's facts then say `weakened-for-test`. */
  weakenForTest?: (spec: OciSpec) => OciSpec;
  /** Tests and the demo only: neither deadline nor lifetime ends a cell. The cell's facts then say `weakened-for-test`. */
  ignoreDeadlineForTest?: boolean;
}

export interface ResolvedOptions extends OciDriverOptions {
  acceptedRisks: readonly AcceptableRisk[];
  claimsDirectory: string;
  bootDeadlineMs: number;
  programDeadlineMs: number;
}

export function resolveOptions(options: OciDriverOptions): ResolvedOptions {
  return {
    ...options,
    runDirectory: resolve(options.runDirectory),
    acceptedRisks: options.acceptedRisks ?? [],
    claimsDirectory: join(options.claimsDirectory ?? defaultClaimsDirectory),
    bootDeadlineMs: options.bootDeadlineMs ?? 20_000,
    programDeadlineMs: options.programDeadlineMs ?? 5000,
  };
}

export const isWeakened = (options: OciDriverOptions): boolean =>
  options.weakenForTest !== undefined || options.ignoreDeadlineForTest === true;
