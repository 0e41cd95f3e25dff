import { GloveboxError } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import type { LockedPackage, PackageSource } from '../ports.ts';
import { checkTree, tooMuch } from './build-inputs.ts';

export interface RestoreOptions {
  /** Downloads at a time. */
  concurrency?: number;
  /** After each distinct package. */
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

export type Tarball = LockedPackage & { bytes: Uint8Array };

/**
 * The archives of all locked packages, in the order of `locked`. A package that stands at several places is fetched once,
 * and its bytes are shared.
 *
 * All of them are held in memory, at most `buildLimits.archivesBytes`. The first failure stops the rest.
 *
 * @throws GloveboxError as PackageSource.tarball does, `DEPENDENCY_REFUSED` over the limits, `INTERRUPTED`.
 */
export async function restoreDependencies(
  locked: readonly LockedPackage[],
  source: PackageSource,
  options: RestoreOptions = {},
): Promise<Tarball[]> {
  const refused = checkTree(locked)[0];
  if (refused !== undefined) throw new GloveboxError(refused.rule, refused);
  const wanted = new Map(locked.map((entry) => [contentKey(entry), entry]));
  const queue = [...wanted.values()];
  const fetched = new Map<string, Uint8Array>();
  const total = queue.length;
  let heldBytes = 0;
  let stopped = false;

  const fetchAll = async (): Promise<void> => {
    for (let entry = queue.shift(); entry !== undefined && !stopped; entry = queue.shift()) {
      if (options.signal?.aborted)
        throw new GloveboxError('INTERRUPTED', { message: 'Fetching the dependencies was cancelled.' });
      const { name, version, integrity } = entry;
      const bytes = await source.tarball({ name, version, integrity });
      heldBytes += bytes.byteLength;
      if (heldBytes > buildLimits.archivesBytes) {
        const finding = tooMuch(heldBytes);
        throw new GloveboxError(finding.rule, finding);
      }
      fetched.set(contentKey(entry), bytes);
      options.onProgress?.(fetched.size, total);
    }
  };
  const workers = Array.from({ length: Math.max(1, Math.min(options.concurrency ?? 8, total)) }, () =>
    fetchAll().catch((error: unknown) => {
      stopped = true;
      throw error;
    }),
  );
  // All of them are waited for: nothing goes on in the background after this has failed.
  const results = await Promise.allSettled(workers);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return locked.map((entry) => ({ ...entry, bytes: fetched.get(contentKey(entry)) as Uint8Array }));
}

function contentKey({ name, version, integrity }: LockedPackage): string {
  return JSON.stringify([name, version, integrity]);
}
