import type { Json } from '@glovebox/contract';
import { registryName } from '@glovebox/contract/package-name';
import { isObject } from '../json/value.ts';
import { isSemver } from '../package/package-json.ts';
import { quoted } from '../text.ts';
import type { Restriction } from './platform.ts';

/** An entry of `packages` in a lockfile, as far as it can be read. */
export interface LockEntry {
  path: string;
  /** The name by its path, which is the one that a program imports. */
  name: string;
  version: string;
  /** The one sha512 hash; empty when there is none. */
  integrity: string;
  dependencies: ReadonlyMap<string, string>;
  optionalDependencies: ReadonlyMap<string, string>;
  peerDependencies: ReadonlyMap<string, string>;
  optionalPeers: ReadonlySet<string>;
  restriction: Restriction;
  hasInstallScript: boolean;
  /** Said to be there for other reasons than the package's own dependencies. */
  flags: { dev: boolean; optional: boolean; peer: boolean; extraneous: boolean };
  /** Why it is no plain package of the registry: what, and what to do. Empty when it is one. */
  refused: { message: string; hint?: string }[];
}

const maxDepth = 32;

/** The name of the package that a path such as `node_modules/a/node_modules/@s/b` is for; undefined for any other path. */
export function nameOfPath(path: string): string | undefined {
  if (!path.startsWith('node_modules/') || path.length > 1024) return undefined;
  const names = path.slice('node_modules/'.length).split('/node_modules/');
  return names.length <= maxDepth && names.every((name) => registryName.test(name)) ? names.at(-1) : undefined;
}

/**
 * Read an entry whose path is well-formed. Nothing in it is followed: `resolved` is only looked at to find out what the
 * author's npm would have fetched.
 */
export function readEntry(
  path: string,
  name: string,
  entry: { [key: string]: Json },
  registries: readonly string[],
): LockEntry {
  const refused: LockEntry['refused'] = [];
  const version = typeof entry.version === 'string' ? entry.version : '';
  if (entry.link === true) {
    refused.push({ message: 'is a link to a directory' });
  } else {
    if (!isSemver(version))
      refused.push({ message: `has no valid version${version === '' ? '' : `: ${quoted(version)}`}` });
    if (typeof entry.name === 'string' && entry.name !== name) {
      refused.push({
        message: `is an alias: the package is ${quoted(entry.name)}`,
        hint: 'Depend on the package by its own name.',
      });
    }
    refused.push(...resolvedProblems(entry.resolved, name, version, registries));
  }
  const integrity = sha512Of(entry.integrity);
  if (entry.link !== true && integrity === '') {
    refused.push({
      message: 'has no sha512 integrity',
      hint: 'Remove the entry and run npm install --package-lock-only.',
    });
  }
  if (entry.inBundle === true)
    refused.push({ message: 'comes inside the archive of another package', hint: 'Use another package.' });
  const bundled = entry.bundleDependencies ?? entry.bundledDependencies;
  if (bundled === true || (Array.isArray(bundled) && bundled.length > 0)) {
    refused.push({ message: 'brings other packages inside its archive', hint: 'Use another package.' });
  }

  const meta = entry.peerDependenciesMeta;
  const optionalPeers = new Set(
    isObject(meta) ? Object.keys(meta).filter((peer) => isObject(meta[peer]) && meta[peer].optional === true) : [],
  );
  const dev = entry.dev === true || entry.devOptional === true;
  const optional = entry.optional === true || entry.devOptional === true;
  return {
    path,
    name,
    version,
    integrity,
    dependencies: specs(entry.dependencies),
    optionalDependencies: specs(entry.optionalDependencies),
    peerDependencies: specs(entry.peerDependencies),
    optionalPeers,
    restriction: { os: words(entry.os), cpu: words(entry.cpu), libc: words(entry.libc) },
    hasInstallScript: entry.hasInstallScript === true,
    flags: { dev, optional, peer: entry.peer === true, extraneous: entry.extraneous === true },
    refused,
  };
}

/** The canonical form of the only sha512 hash in an integrity string; empty when there is none, or more than one. */
function sha512Of(integrity: Json | undefined): string {
  if (typeof integrity !== 'string' || integrity.length > 1024) return '';
  const strong = integrity.split(/\s+/).filter((hash) => hash.startsWith('sha512-'));
  const hash = strong[0] ?? '';
  const encoded = hash.slice('sha512-'.length);
  const bytes = Buffer.from(encoded, 'base64');
  // Re-encoding refuses options, other alphabets and stray bits, which readers take differently.
  return strong.length === 1 && bytes.length === 64 && bytes.toString('base64') === encoded ? hash : '';
}

function resolvedProblems(
  resolved: Json | undefined,
  name: string,
  version: string,
  registries: readonly string[],
): LockEntry['refused'] {
  if (resolved === undefined) return [];
  const hint =
    'Use the package of the registry; npm install --package-lock-only --omit-lockfile-registry-resolved leaves the URL out.';
  if (typeof resolved !== 'string') return [{ message: 'resolved is not a string', hint }];
  let url: URL;
  try {
    url = new URL(resolved);
  } catch {
    return [{ message: `resolved to ${quoted(resolved)}, which is no registry`, hint }];
  }
  if (url.protocol !== 'https:') return [{ message: `resolved to ${quoted(resolved)}: not https`, hint }];
  const file = `${name.slice(name.indexOf('/') + 1)}-${version}.tgz`;
  const allowed = registries.some((registry) =>
    [name, name.replace('/', '%2f'), name.replace('/', '%2F')].some(
      (spelled) => url.href === `${registry}/${spelled}/-/${file}`,
    ),
  );
  if (allowed) return [];
  const known = registries.some((registry) => url.href.startsWith(`${registry}/`));
  const why = known ? `not the archive of ${name}@${version}` : 'not the registry';
  return [{ message: `resolved to ${quoted(resolved)}: ${why}`, hint }];
}

function specs(found: Json | undefined): Map<string, string> {
  const map = new Map<string, string>();
  // What is no string cannot be satisfied, and is refused where the edge is followed.
  if (isObject(found))
    for (const [name, spec] of Object.entries(found)) map.set(name, typeof spec === 'string' ? spec : 'file:?');
  return map;
}

function words(found: Json | undefined): string[] {
  if (typeof found === 'string') return [found];
  return Array.isArray(found) ? found.filter((word) => typeof word === 'string') : [];
}
