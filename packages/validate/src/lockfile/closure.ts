import type { PackageJson } from '../package/package-json.ts';
import { quoted } from '../text.ts';
import type { LockEntry } from './entry.ts';
import type { Tell } from './lockfile.ts';
import { isNative, type Platform, runsOn } from './platform.ts';
import { rangeProblem, satisfies } from './range.ts';

type EdgeKind = 'required' | 'optional' | 'peer';

export interface Edge {
  /** Path of the package that depends; empty for the node package itself. */
  from: string;
  name: string;
  range: string;
  kind: EdgeKind;
}

/**
 * The entries that the package's dependencies lead to on a platform, by path. An optional dependency that does not run
 * there is left out, with what only it leads to.
 *
 * Tells of every edge that leads nowhere or to a version out of its range, of every needed entry that is refused, and of
 * entries that nothing leads to.
 */
export function closure(
  entries: ReadonlyMap<string, LockEntry>,
  pkg: PackageJson,
  platform: Platform,
  tell: Tell,
): Map<string, LockEntry> {
  const needed = new Map<string, LockEntry>();
  const leftOut = new Set<string>();
  const required = new Set<string>();
  const edges: Edge[] = edgesOf('', pkg.dependencies, pkg.optionalDependencies);

  for (let edge = edges.pop(); edge !== undefined; edge = edges.pop()) {
    const target = follow(edge, entries, tell);
    if (target === undefined) continue;
    if (!runsOn(target.restriction, platform)) {
      if (edge.kind === 'optional') leftOut.add(target.path);
      else required.add(target.path);
      continue;
    }
    if (needed.has(target.path)) continue;
    needed.set(target.path, target);
    edges.push(...edgesFrom(target));
  }

  for (const path of required) {
    const message = `${path} does not run on ${platform.os}-${platform.cpu} with ${platform.libc}`;
    tell('LOCKFILE_ENTRY_REFUSED', ['packages', path], message, 'Use a package that runs everywhere.');
  }
  for (const entry of needed.values()) tellRefusals(entry, tell);
  for (const entry of entries.values()) {
    const { dev, optional, peer, extraneous } = entry.flags;
    if (needed.has(entry.path)) continue;
    // What is left out for its platform would be fetched on another one: it is held to the same rules.
    if (leftOut.has(entry.path) || (optional && !dev)) tellSources(entry, tell);
    else if (extraneous || !(dev || peer)) {
      tell('LOCKFILE_INVALID', ['packages', entry.path], `nothing depends on ${entry.path}`);
    }
  }
  return needed;
}

/** What an entry leads to. Peers that it can do without lead nowhere. */
export function edgesFrom({
  path,
  dependencies,
  optionalDependencies,
  peerDependencies,
  optionalPeers,
}: LockEntry): Edge[] {
  const peers = new Map([...peerDependencies].filter(([name]) => !optionalPeers.has(name)));
  return edgesOf(path, dependencies, optionalDependencies, peers);
}

export function edgesOf(
  from: string,
  dependencies: ReadonlyMap<string, string>,
  optional: ReadonlyMap<string, string>,
  peers: ReadonlyMap<string, string> = new Map(),
): Edge[] {
  const edges: Edge[] = [];
  for (const [name, range] of dependencies)
    if (!optional.has(name)) edges.push({ from, name, range, kind: 'required' });
  for (const [name, range] of optional) edges.push({ from, name, range, kind: 'optional' });
  for (const [name, range] of peers) edges.push({ from, name, range, kind: 'peer' });
  return edges;
}

/** Where Node.js would find the package that an edge names; undefined, with a finding where it matters, when nowhere. */
function follow(edge: Edge, entries: ReadonlyMap<string, LockEntry>, tell: Tell): LockEntry | undefined {
  const { from, name, range, kind } = edge;
  const who = from === '' ? 'the package' : from;
  const field = { required: 'dependencies', optional: 'optionalDependencies', peer: 'peerDependencies' }[kind];
  const place = ['packages', from, field, name];

  const problem = rangeProblem(range);
  if (problem !== undefined) {
    tell(
      'LOCKFILE_ENTRY_REFUSED',
      place,
      `${who} depends on ${quoted(name)}, which ${problem}`,
      'Use a package without such a dependency.',
    );
    return undefined;
  }
  const target = resolve(edge, entries);
  if (target === undefined) {
    // npm leaves out optional ones that it could not install; peers are the dependent's business.
    if (kind === 'required')
      tell('LOCKFILE_INVALID', place, `${who} depends on ${quoted(name)}, which is not in the lockfile`);
    if (kind === 'peer')
      tell(
        'LOCKFILE_INVALID',
        place,
        `${who} expects ${quoted(name)} beside it, which is not in the lockfile`,
        undefined,
        'warning',
      );
    return undefined;
  }
  if (!satisfies(target.version, range)) {
    const message = `${who} depends on ${name}@${range}, but ${target.path} is ${quoted(target.version)}`;
    tell('LOCKFILE_INVALID', place, message, undefined, kind === 'peer' ? 'warning' : undefined);
  }
  return target;
}

/** As Node.js looks for it: in the nearest directory first. */
export function resolve({ from, name, kind }: Edge, entries: ReadonlyMap<string, LockEntry>): LockEntry | undefined {
  // A peer is looked for beside the package, not below it.
  let directory = kind === 'peer' ? parentOf(from) : from;
  while (directory !== undefined) {
    const found = entries.get(directory === '' ? `node_modules/${name}` : `${directory}/node_modules/${name}`);
    if (found !== undefined) return found;
    directory = parentOf(directory);
  }
  return undefined;
}

/** The package whose node_modules holds this one; undefined above the node package itself. */
function parentOf(path: string): string | undefined {
  if (path === '') return undefined;
  const at = path.lastIndexOf('/node_modules/');
  return at === -1 ? '' : path.slice(0, at);
}

function tellSources(entry: LockEntry, tell: Tell): void {
  for (const { message, hint } of entry.refused)
    tell('LOCKFILE_ENTRY_REFUSED', ['packages', entry.path], `${entry.path} ${message}`, hint);
}

function tellRefusals(entry: LockEntry, tell: Tell): void {
  tellSources(entry, tell);
  const instead =
    'No script ever runs and no machine code is loaded. Use a package in plain JavaScript or WebAssembly.';
  if (entry.hasInstallScript)
    tell('LOCKFILE_ENTRY_REFUSED', ['packages', entry.path], `${entry.path} has an install script`, instead);
  if (isNative(entry.restriction))
    tell('LOCKFILE_ENTRY_REFUSED', ['packages', entry.path], `${entry.path} is machine code for one platform`, instead);
}
