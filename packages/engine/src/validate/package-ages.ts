import { type Finding, GloveboxError } from '@glovebox/contract';
import { locateFindings } from '@glovebox/validate';
import type { LockedPackage, NodePackage, PackageSource } from '../ports.ts';
import { isPackagesFault, lockFinding } from './fetch-locked.ts';

/** Requests at a time. The whole metadata of a package may be large, and is held while it is read. */
const concurrency = 2;

export interface PackageAges {
  /** By place in the tree; of those that have a finding it may be missing. */
  publishedAtMs: Map<string, number>;
  /** One for each place of a package that is too young, or of which the registry does not tell. */
  findings: Finding[];
}

/**
 * Since when the registry says it has each package of a lockfile, those for development too: their code runs in tests. One
 * that is younger than the minimum is a finding, and so is one of unknown age or from the future: what cannot be shown to
 * be old counts as new.
 *
 * @param nowMs milliseconds since the epoch. Who can set the clock ahead can make all packages old.
 * @throws GloveboxError `REGISTRY_UNAVAILABLE`, `INTERRUPTED`: nothing is known then.
 */
export async function packageAges(
  pkg: Pick<NodePackage, 'files' | 'dependencies' | 'devDependencies'>,
  source: PackageSource,
  { minimumAgeMs, nowMs }: { minimumAgeMs: number; nowMs: number },
  signal: AbortSignal | undefined,
): Promise<PackageAges> {
  const publishedAtMs: PackageAges['publishedAtMs'] = new Map();
  const findings: Finding[] = [];
  const queue = bySource([...pkg.dependencies, ...pkg.devDependencies]);
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);

  const judge = (entry: LockedPackage, sinceMs: number | undefined): void => {
    if (sinceMs !== undefined) publishedAtMs.set(entry.path, sinceMs);
    if (sinceMs === undefined || nowMs - sinceMs < minimumAgeMs)
      findings.push(lockFinding(tooFresh(entry, sinceMs, { minimumAgeMs, nowMs }), entry));
  };
  const askAll = async (): Promise<void> => {
    for (let places = queue.shift(); places !== undefined && !stop.signal.aborted; places = queue.shift()) {
      const { name, version, integrity } = places[0];
      try {
        const sinceMs = await source.publishedAt({ name, version, integrity }, until);
        for (const entry of places) judge(entry, sinceMs);
      } catch (error) {
        if (!isPackagesFault(error)) throw error;
        for (const entry of places) findings.push(lockFinding(error, entry));
      }
    }
  };
  // Aborting a second time changes nothing, so the reason is the first failure, not one that comes of it.
  const workers = Array.from({ length: concurrency }, () => askAll().catch((error: unknown) => stop.abort(error)));
  await Promise.all(workers);
  if (stop.signal.aborted) throw stop.signal.reason;
  return { publishedAtMs, findings: locateFindings(pkg.files, findings) };
}

/** The same package may stand at several places. */
function bySource(locked: readonly LockedPackage[]): [LockedPackage, ...LockedPackage[]][] {
  const found = new Map<string, [LockedPackage, ...LockedPackage[]]>();
  for (const entry of locked) {
    const key = JSON.stringify([entry.name, entry.version, entry.integrity]);
    const places = found.get(key);
    if (places === undefined) found.set(key, [entry]);
    else places.push(entry);
  }
  return [...found.values()];
}

function tooFresh(
  { name, version }: LockedPackage,
  sinceMs: number | undefined,
  { minimumAgeMs, nowMs }: { minimumAgeMs: number; nowMs: number },
): GloveboxError {
  const least = `this host demands ${ageText(minimumAgeMs)}`;
  if (sinceMs === undefined) {
    return new GloveboxError('DEPENDENCY_TOO_FRESH', {
      message: `The registry does not tell how long it has had ${name}@${version}; ${least}.`,
      hint: 'Pin a version of which the registry tells, or have the operator name a registry that does.',
    });
  }
  return new GloveboxError('DEPENDENCY_TOO_FRESH', {
    message: `${name}@${version} has been in the registry for ${ageText(Math.max(0, nowMs - sinceMs))}; ${least}.`,
    hint: `Wait until ${new Date(sinceMs + minimumAgeMs).toISOString()}, or pin an older version.`,
  });
}

/** The largest unit of days, hours and minutes that there is one of, rounded down. */
function ageText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes >= 2 * 1440) return `${Math.floor(minutes / 1440)} days`;
  if (minutes >= 120) return `${Math.floor(minutes / 60)} h`;
  return `${minutes} min`;
}
