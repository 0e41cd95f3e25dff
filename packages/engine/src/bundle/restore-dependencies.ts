import { GloveboxError } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import { checkTree, tooMuch } from '../builder-cell/build-inputs.ts';
import type { LockedPackage, PackageSource } from '../ports.ts';

/** Downloads at a time. */
const atOnce = 8;

export type Tarball = LockedPackage & { bytes: Uint8Array };

/**
 * The archives of all locked packages, in the order of `locked`. A package that stands at several places is fetched once,
 * and its bytes are shared.
 *
 * All of them are held in memory, at most `buildLimits.archivesBytes`. The first failure stops the rest, and so does
 * `signal`, also in the middle of a download.
 *
 * @throws GloveboxError as PackageSource.tarball does, `DEPENDENCY_REFUSED` over the limits, `INTERRUPTED`.
 */
export async function restoreDependencies(
  locked: readonly LockedPackage[],
  source: PackageSource,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Tarball[]> {
  const refused = checkTree(locked)[0];
  if (refused !== undefined) throw new GloveboxError(refused.rule, refused);
  const wanted = new Map(locked.map((entry) => [contentKey(entry), entry]));
  const queue = [...wanted.values()];
  const fetched = new Map<string, Uint8Array>();
  let heldBytes = 0;
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);

  const fetchAll = async (): Promise<void> => {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      if (until.aborted)
        throw new GloveboxError('INTERRUPTED', { message: 'Fetching the dependencies was cancelled.' });
      const { name, version, integrity } = entry;
      const bytes = await source.tarball({ name, version, integrity }, until);
      heldBytes += bytes.byteLength;
      if (heldBytes > buildLimits.archivesBytes) {
        const finding = tooMuch(heldBytes);
        throw new GloveboxError(finding.rule, finding);
      }
      fetched.set(contentKey(entry), bytes);
    }
  };
  // Aborting a second time changes nothing, so the reason is the first failure, not one that comes of it.
  const workers = Array.from({ length: atOnce }, () => fetchAll().catch((error: unknown) => stop.abort(error)));
  // All of them are waited for: nothing goes on in the background after this has failed.
  await Promise.all(workers);
  if (stop.signal.aborted) throw stop.signal.reason;
  return locked.map((entry) => ({ ...entry, bytes: fetched.get(contentKey(entry)) as Uint8Array }));
}

function contentKey({ name, version, integrity }: LockedPackage): string {
  return JSON.stringify([name, version, integrity]);
}
