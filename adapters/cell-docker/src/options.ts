import { join, resolve } from 'node:path';
import { defaultClaimsDirectory } from '@glovebox/cell/host';
import type { AcceptableRisk, InstanceId } from '@glovebox/contract';
import type { CreateBody } from './create-body.ts';
import type { EngineAddress } from './engine-address.ts';

/** Stands in receipts. */
export const driverName = 'docker';

export interface DockerDriverOptions {
  /** Whose cells these are; stands in the name and the labels of every container. */
  instance: InstanceId;
  engine: EngineAddress;
  /** `run/` of the data directory. */
  runDirectory: string;
  /** The image of a digest as the tar that engines take in. Asked for where an engine lacks it. May throw `IMAGE_MISSING`. */
  archiveOf(digest: string): AsyncIterable<Uint8Array>;
  /** Name of a runtime as the engine knows it, such as runc or crun; the engine's default where it is left out. */
  runtime?: string;
  /** What the administrator accepts to go without. */
  acceptedRisks?: readonly AcceptableRisk[];
  /** Where the whole host's uid claims are. Every driver on a host must be given the same. */
  claimsDirectory?: string;
  /** For the engine to start a container. */
  bootDeadlineMs?: number;
  /** For each other question to the engine. */
  callDeadlineMs?: number;
  /** For the engine to take in an image. */
  loadDeadlineMs?: number;
  /** How long a cell that is to die is sought to be confirmed dead, and an engine that is away waited for. */
  giveUpMs?: number;
  /** Tests and the demo only: change what the engine is told. The cell's facts then say `weakened-for-test`. */
  weakenForTest?: (body: CreateBody) => CreateBody;
  /** Tests and the demo only: neither deadline nor lifetime ends a cell. The cell's facts then say `weakened-for-test`. */
  ignoreDeadlineForTest?: boolean;
}

export interface ResolvedOptions extends DockerDriverOptions {
  acceptedRisks: readonly AcceptableRisk[];
  claimsDirectory: string;
  bootDeadlineMs: number;
  callDeadlineMs: number;
  loadDeadlineMs: number;
  giveUpMs: number;
}

export function resolveOptions(options: DockerDriverOptions): ResolvedOptions {
  return {
    ...options,
    runDirectory: resolve(options.runDirectory),
    claimsDirectory: join(options.claimsDirectory ?? defaultClaimsDirectory),
    acceptedRisks: options.acceptedRisks ?? [],
    bootDeadlineMs: options.bootDeadlineMs ?? 20_000,
    callDeadlineMs: options.callDeadlineMs ?? 10_000,
    loadDeadlineMs: options.loadDeadlineMs ?? 120_000,
    giveUpMs: options.giveUpMs ?? 20_000,
  };
}

export const isWeakened = (options: DockerDriverOptions): boolean =>
  options.weakenForTest !== undefined || options.ignoreDeadlineForTest === true;
