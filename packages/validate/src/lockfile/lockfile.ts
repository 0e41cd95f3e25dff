import type { ErrorCode, Finding, Json } from '@glovebox/contract';
import type { Findings } from '../findings.ts';
import { readJsonFile } from '../json/read.ts';
import { ToldOf } from '../json/told.ts';
import { isObject } from '../json/value.ts';
import type { LockedPackage } from '../node-package.ts';
import type { PackageJson } from '../package/package-json.ts';
import { sortedByBytes } from '../package/revision.ts';
import { quoted } from '../text.ts';
import { closure } from './closure.ts';
import { devClosure } from './dev-closure.ts';
import { type LockEntry, nameOfPath, readEntry } from './entry.ts';
import type { Platform } from './platform.ts';

const lockfileName = 'package-lock.json';
const limits = { maxBytes: 2 * 1024 * 1024, maxDepth: 64 };
const maxEntries = 2000;

export type Tell = (
  rule: ErrorCode,
  path: string[],
  message: string,
  hint?: string,
  severity?: Finding['severity'],
) => void;

/** What a lockfile holds; nothing when it has errors. */
export interface Locked {
  /** Sorted by path. */
  dependencies: LockedPackage[];
  /** What only types and tests need, sorted by path. */
  devDependencies: LockedPackage[];
  /** Of the packages that package.json names, by name. */
  versions: ReadonlyMap<string, string>;
}

export const nothingLocked: Locked = { dependencies: [], devDependencies: [], versions: new Map() };

/**
 * Check package-lock.json (lockfileVersion 2 or 3) and take from it what has to be fetched for the cell's platform.
 *
 * Which entries count is computed from the edges, as Node.js resolves them, not from what the lockfile claims: every
 * entry that the dependencies of package.json lead to must be a plain package of the registry with a sha512 hash, must
 * satisfy every range that leads to it, and may not have an install script or machine code. Of the entries that only
 * devDependencies lead to, those that are anything else are left out and never fetched.
 */
export function readLockfile(
  bytes: Uint8Array,
  pkg: PackageJson,
  options: { platform: Platform; registries: readonly string[] },
  findings: Findings,
): Locked {
  const json = readJsonFile(lockfileName, bytes, limits, 'LOCKFILE_INVALID', findings);
  if (json === undefined) return nothingLocked;
  const told = new ToldOf(json);
  const tell: Tell = (rule, path, message, hint, severity) => told.tell({ rule, path, message, hint, severity });

  const entries = readEntries(json.value, pkg, options.registries, tell);
  if (entries === undefined) {
    told.report(findings);
    return nothingLocked;
  }
  const needed = closure(entries, pkg, options.platform, tell);
  const development = devClosure(entries, pkg, options.platform, needed, tell);
  told.report(findings);
  if (told.hasErrors) return nothingLocked;
  return { dependencies: sorted(needed), devDependencies: sorted(development), versions: versionsOf(entries) };
}

function sorted(entries: ReadonlyMap<string, LockEntry>): LockedPackage[] {
  return sortedByBytes([...entries.keys()]).flatMap((path) => locked(entries.get(path)));
}

function versionsOf(entries: ReadonlyMap<string, LockEntry>): Map<string, string> {
  const atRoot = [...entries.values()].filter(({ path, name }) => path === `node_modules/${name}`);
  return new Map(atRoot.map(({ name, version }) => [name, version]));
}

const locked = (entry: LockEntry | undefined): LockedPackage[] =>
  entry === undefined
    ? []
    : [{ path: entry.path, name: entry.name, version: entry.version, integrity: entry.integrity }];

function readEntries(
  lock: Json,
  pkg: PackageJson,
  registries: readonly string[],
  tell: Tell,
): Map<string, LockEntry> | undefined {
  if (!isObject(lock)) {
    tell('LOCKFILE_INVALID', [], `${lockfileName} must be an object`);
    return undefined;
  }
  const version = lock.lockfileVersion;
  if (version !== 2 && version !== 3) {
    tell(
      'LOCKFILE_INVALID',
      ['lockfileVersion'],
      `lockfileVersion must be 2 or 3`,
      'Make it again with npm 7 or later.',
    );
    return undefined;
  }
  const packages = lock.packages;
  if (!isObject(packages)) {
    tell('LOCKFILE_INVALID', ['packages'], 'packages must be an object');
    return undefined;
  }
  const paths = Object.keys(packages);
  if (paths.length > maxEntries) {
    tell(
      'LOCKFILE_INVALID',
      ['packages'],
      `there are ${paths.length} packages; at most ${maxEntries}`,
      'Use fewer dependencies.',
    );
    return undefined;
  }
  checkRoot(packages[''], pkg, tell);

  const entries = new Map<string, LockEntry>();
  for (const path of paths) {
    const entry = packages[path];
    if (path === '') continue;
    const name = nameOfPath(path);
    // A path that leads elsewhere would be a place to write to, if anything took it for one.
    if (name === undefined)
      tell('LOCKFILE_ENTRY_REFUSED', ['packages', path], `${quoted(path)} is not a path in node_modules`);
    else if (!isObject(entry)) tell('LOCKFILE_INVALID', ['packages', path], `${path} must be an object`);
    else entries.set(path, readEntry(path, name, entry, registries));
  }
  return entries;
}

/** The dependencies that the lockfile was made for are those of package.json, word for word. */
function checkRoot(root: Json | undefined, pkg: PackageJson, tell: Tell): void {
  if (!isObject(root)) {
    tell('LOCKFILE_INVALID', ['packages'], 'the entry of the package itself, packages[""], is missing');
    return;
  }
  for (const section of ['dependencies', 'optionalDependencies', 'devDependencies'] as const) {
    const inLock = isObject(root[section]) ? root[section] : {};
    for (const name of new Set([...pkg[section].keys(), ...Object.keys(inLock)])) {
      const wanted = pkg[section].get(name);
      const found = Object.hasOwn(inLock, name) ? inLock[name] : undefined;
      if (wanted === found) continue;
      const says = (spec: Json | undefined) => (typeof spec === 'string' ? quoted(spec) : 'nothing');
      tell(
        'LOCKFILE_INVALID',
        ['packages', '', section, name],
        `${section}.${name}: package.json says ${says(wanted)}, the lockfile ${says(found)}`,
      );
    }
  }
}
