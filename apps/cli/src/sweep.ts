import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openOwnership } from '@glovebox/engine/ownership';
import { claimsDirectory } from './adapters.ts';

/**
 * Do something as the owner of a data directory, for commands that neither open records nor boot cells of the API: where
 * another process is the owner, it is told `undefined` and nothing is done.
 */
export async function asOwner<Result>(dataDir: string, action: () => Promise<Result>): Promise<Result | undefined> {
  const ownership = openOwnership(join(dataDir, 'run'));
  if (!ownership.claim()) return undefined;
  try {
    return await action();
  } finally {
    ownership.release();
  }
}

/** Remove what killed processes left half-written in the data directory. For its owner alone. */
export async function sweepDataDir(dataDir: string): Promise<void> {
  const { removeAbandoned } = await import('@glovebox/engine/staging');
  for (const place of ['blobs/staging', 'images/staging', 'cache/bundles', 'cache/checks'])
    removeAbandoned(join(dataDir, place));
}

/** Whether cells, live or dead, have left anything to be swept, as far as that is known without a driver. */
export function hasTraces(dataDir: string): boolean {
  try {
    if (readdirSync(join(dataDir, 'run', 'cells')).length > 0) return true;
  } catch {
    // No cell was ever booted here.
  }
  return existsSync(claimsDirectory);
}
