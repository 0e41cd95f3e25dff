import type { PackageJson } from '../package/package-json.ts';
import { quoted } from '../text.ts';
import { type Edge, edgesFrom, edgesOf, resolve } from './closure.ts';
import type { LockEntry } from './entry.ts';
import type { Tell } from './lockfile.ts';
import { isNative, type Platform, runsOn } from './platform.ts';
import { rangeProblem } from './range.ts';

/** They come with the toolchain, in its versions, whatever the lockfile says. */
export const toolchainPackages: ReadonlySet<string> = new Set(['typescript', '@types/node']);

/**
 * The entries that only devDependencies lead to on a platform, by path: what types and tests may use beyond `needed`. An
 * entry that is no plain package of the registry is left out, and so is every one that cannot do without it. Of these,
 * those that what is taken leads to are told, as notices; what is left out for its platform, and what the toolchain
 * brings, is left out in silence.
 */
export function devClosure(
  entries: ReadonlyMap<string, LockEntry>,
  pkg: PackageJson,
  platform: Platform,
  needed: ReadonlyMap<string, LockEntry>,
  tell: Tell,
): Map<string, LockEntry> {
  const target = (edge: Edge): LockEntry | undefined =>
    toolchainPackages.has(edge.name) || rangeProblem(edge.range) !== undefined ? undefined : resolve(edge, entries);
  const roots = edgesOf('', pkg.devDependencies, new Map());
  const reached = reach(roots, (edge) => {
    const found = target(edge);
    return found === undefined || needed.has(found.path) ? undefined : found;
  });

  const leftOut = new Map<string, string | undefined>();
  for (const entry of reached.values()) {
    if (!runsOn(entry.restriction, platform)) leftOut.set(entry.path, undefined);
    else {
      const why = refusal(entry) ?? loose(entry, target);
      if (why !== undefined) leftOut.set(entry.path, why);
    }
  }
  for (const [path, why] of dependents(reached, leftOut, target)) leftOut.set(path, why);

  const missed = new Map<string, string>();
  const taken = reach(roots, (edge) => {
    const found = target(edge);
    if (found === undefined || !reached.has(found.path)) return undefined;
    const why = leftOut.get(found.path);
    if (why !== undefined) missed.set(found.path, why);
    return leftOut.has(found.path) ? undefined : found;
  });
  for (const [path, why] of missed) {
    const message = `${path} ${why}: it is never fetched, and types and tests do without it`;
    tell('LOCKFILE_ENTRY_REFUSED', ['packages', path], message, 'Nothing to do, unless a test imports it.', 'notice');
  }
  return taken;
}

function reach(roots: readonly Edge[], follow: (edge: Edge) => LockEntry | undefined): Map<string, LockEntry> {
  const reached = new Map<string, LockEntry>();
  const edges = [...roots];
  for (let edge = edges.pop(); edge !== undefined; edge = edges.pop()) {
    const entry = follow(edge);
    if (entry === undefined || reached.has(entry.path)) continue;
    reached.set(entry.path, entry);
    edges.push(...edgesFrom(entry));
  }
  return reached;
}

function refusal(entry: LockEntry): string | undefined {
  if (entry.refused[0] !== undefined) return entry.refused[0].message;
  if (entry.hasInstallScript) return 'has an install script';
  return isNative(entry.restriction) ? 'is machine code for one platform' : undefined;
}

/** A need of an entry that leads nowhere. */
function loose(entry: LockEntry, target: (edge: Edge) => LockEntry | undefined): string | undefined {
  const nowhere = edgesFrom(entry).find(
    (edge) => edge.kind === 'required' && !toolchainPackages.has(edge.name) && target(edge) === undefined,
  );
  return nowhere === undefined ? undefined : `needs ${quoted(nowhere.name)}, which is no package of the lockfile`;
}

/** Who cannot do without what is left out, however far away, and why that is. */
function dependents(
  reached: ReadonlyMap<string, LockEntry>,
  leftOut: ReadonlyMap<string, string | undefined>,
  target: (edge: Edge) => LockEntry | undefined,
): Map<string, string> {
  const needing = new Map<string, string[]>();
  for (const entry of reached.values()) {
    for (const edge of edgesFrom(entry)) {
      const found = edge.kind === 'required' ? target(edge) : undefined;
      if (found === undefined) continue;
      const list = needing.get(found.path) ?? [];
      list.push(entry.path);
      needing.set(found.path, list);
    }
  }
  const result = new Map<string, string>();
  const queue = [...leftOut].map(([path, why = 'does not run here']) => ({ path, cause: `${path}, which ${why}` }));
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { cause } = next;
    for (const path of needing.get(next.path) ?? []) {
      if (leftOut.has(path) || result.has(path)) continue;
      result.set(path, `needs ${cause}`);
      queue.push({ path, cause });
    }
  }
  return result;
}
