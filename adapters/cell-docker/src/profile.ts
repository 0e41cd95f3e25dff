import type { CellProfile } from '@glovebox/cell';
import { maskedPaths } from './create-body.ts';
import type { EngineFacts } from './engine-facts.ts';

/**
 * In what the cells of an engine differ from those that we make whole: the engine lays out `/` and `/dev` and mounts what it
 * mounts. All that it mounts has something empty over it.
 */
export function profileOf(facts: EngineFacts, uid: number): CellProfile {
  return {
    userNamespace: facts.remapsIds ? 'remapped' : 'none',
    namespacesBy: 'engine',
    scratchInodes: 'limited',
    uid,
    rootOptions: ['ro'],
    devOptions: ['nosuid'],
    masked: maskedPaths,
    // Podman says the host name twice, whatever it is told.
    ...(facts.kind === 'podman' ? { addedEnvironment: { HOSTNAME: 'cell' } } : {}),
    lacks: facts.remapsIds ? [] : ['namespace-user'],
  };
}

/** With a range of the daemon's, which is as wide as ids of 16 bits: a number of the claim's own, above what hosts use. */
const firstRemappedUid = 1024;

/** Container uid and gid of a cell: what no other live cell has on the host. */
export const containerUid = (facts: EngineFacts, claim: { cellId: number; slot: number }): number =>
  facts.remapsIds ? firstRemappedUid + claim.slot : claim.cellId;
