import type { Engine } from './engine.ts';
import { isDead } from './host.ts';

/**
 * Bring to an end what dead processes left open: their attempts become LOST, their validations are over without a verdict.
 * For the owner of the data directory alone, see Ownership. What cannot be judged from here is left as it is.
 */
export async function recoverRecords({ store, drafts }: Pick<Engine, 'store' | 'drafts'>, atMs: number): Promise<void> {
  await store.markLost(isDead, atMs);
  await drafts.recoverValidations(isDead, atMs);
}
