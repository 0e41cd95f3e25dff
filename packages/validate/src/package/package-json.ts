import { type Json, versionSchema } from '@glovebox/contract';
import { registryName } from '@glovebox/contract/package-name';
import type { Findings } from '../findings.ts';
import { readJsonFile } from '../json/read.ts';
import { ToldOf } from '../json/told.ts';
import { isObject } from '../json/value.ts';
import { quoted } from '../text.ts';

export const packageJsonFile = 'package.json';
export const packageJsonLimits = { maxBytes: 256 * 1024, maxDepth: 32 };
const maxDependencies = 200;

export interface PackageJson {
  name: string;
  version: string;
  license: string;
  /** Name to range. */
  dependencies: ReadonlyMap<string, string>;
  optionalDependencies: ReadonlyMap<string, string>;
  devDependencies: ReadonlyMap<string, string>;
}

/** semver.org, rule 2 to 10, without a leading v or space; numbers that a double holds. */
const semver =
  /^(?:0|[1-9]\d{0,14})\.(?:0|[1-9]\d{0,14})\.(?:0|[1-9]\d{0,14})(?:-(?:0|[1-9]\d{0,14}|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d{0,14}|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

export function isSemver(text: string): boolean {
  return text.length <= 128 && semver.test(text);
}

/** Rules of npm for new packages: lower case, URL-safe, at most 214 characters. */
export function isPackageName(name: string): boolean {
  return registryName.test(name) && name === name.toLowerCase() && !/(?:^|\/)_/.test(name);
}

/** Fields that change the tree of dependencies behind the lockfile's back, or bring code that no registry has. */
const refusedFields: { [field: string]: string } = {
  overrides: 'Depend on the version that you want.',
  resolutions: 'Depend on the version that you want.',
  bundleDependencies: 'List them in dependencies; the build bundles them.',
  bundledDependencies: 'List them in dependencies; the build bundles them.',
  peerDependencies: 'List them in dependencies: a node is no library.',
  workspaces: 'A node package stands alone.',
  pnpm: 'Only npm and package-lock.json are supported.',
};

const installScripts = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];

/**
 * Check package.json: name, version, license, and that every dependency is a range of the registry. Other fields are
 * allowed and mean nothing here; no script of it is ever run.
 *
 * @returns its content, undefined when it has errors; and the unscoped name if that much could be read.
 */
export async function readPackageJson(
  bytes: Uint8Array,
  purpose: 'trial' | 'release',
  findings: Findings,
): Promise<{ pkg: PackageJson | undefined; unscopedName: string | undefined }> {
  const json = readJsonFile(packageJsonFile, bytes, packageJsonLimits, 'PACKAGE_JSON_INVALID', findings);
  if (json === undefined) return { pkg: undefined, unscopedName: undefined };
  const told = new ToldOf(json);
  const tell = (severity: 'error' | 'warning', path: string[], what: string, hint?: string) => {
    const message = path.length === 0 ? what : `${dotted(path)}: ${what}`;
    told.tell({ rule: 'PACKAGE_JSON_INVALID', path, message, hint, severity });
  };
  const pkg = await check(json.value, purpose, tell);
  told.report(findings);
  const unscopedName =
    pkg !== undefined && isPackageName(pkg.name) ? pkg.name.slice(pkg.name.indexOf('/') + 1) : undefined;
  return { pkg: told.hasErrors ? undefined : pkg, unscopedName };
}

type Tell = (severity: 'error' | 'warning', path: string[], what: string, hint?: string) => void;

/** Undefined when it is no object; otherwise what could be read, to be used only when nothing was told. */
async function check(value: Json, purpose: 'trial' | 'release', tell: Tell): Promise<PackageJson | undefined> {
  if (!isObject(value)) {
    tell('error', [], `${packageJsonFile} must be an object`);
    return undefined;
  }
  const text = (field: string, hint: string): string => {
    const found = value[field];
    if (typeof found === 'string' && found !== '') return found;
    tell('error', [field], found === undefined ? 'is missing' : 'must be a string that is not empty', hint);
    return '';
  };

  const name = text('name', 'Its unscoped part is the id of the node.');
  if (name !== '' && !isPackageName(name))
    tell('error', ['name'], `${quoted(name)} is not a package name`, 'Use lower-case letters, digits and hyphens.');
  const version = text('version', 'Write a version such as 1.0.0.');
  if (version !== '' && !isSemver(version))
    tell('error', ['version'], `${quoted(version)} is not a semantic version`, 'Write a version such as 1.0.0.');
  else if (purpose === 'release' && version !== '' && !versionSchema.safeParse(version).success)
    tell('error', ['version'], `${quoted(version)} cannot name a release`, 'Leave build metadata out; 64 characters.');
  const license = text('license', 'Name an SPDX license, such as MIT, or UNLICENSED.');
  if (license.length > 200) tell('error', ['license'], 'is longer than 200 characters');

  const { type, scripts } = value;
  if (type === undefined)
    tell('warning', [], 'type: is not "module"', 'Write "type": "module": a node is an ES module.');
  else if (type !== 'module') tell('error', ['type'], 'must be "module"', 'A node is an ES module.');
  for (const [field, hint] of Object.entries(refusedFields)) {
    if (value[field] !== undefined) tell('error', [field], 'is refused', hint);
  }
  if (value.publishConfig !== undefined) tell('warning', ['publishConfig'], 'is ignored', 'Remove it.');
  for (const script of installScripts) {
    if (isObject(scripts) && scripts[script] !== undefined)
      tell('warning', ['scripts', script], 'is never run', 'Remove it.');
  }

  const seen = new Map<string, string>();
  const section = async (field: string): Promise<Map<string, string>> => {
    const found = value[field];
    const specs = new Map<string, string>();
    if (found === undefined) return specs;
    if (!isObject(found)) {
      tell('error', [field], 'must be an object');
      return specs;
    }
    const entries = Object.entries(found);
    if (entries.length > maxDependencies)
      tell('error', [field], `has ${entries.length} entries; at most ${maxDependencies}`);
    for (const [dependency, spec] of entries.slice(0, maxDependencies)) {
      const problem = await dependencyProblem(dependency, spec);
      if (problem !== undefined)
        tell(
          'error',
          [field, dependency],
          problem,
          'Use a version or a range of the registry, such as 1.2.3 or ^1.2.3.',
        );
      const other = seen.get(dependency);
      if (other !== undefined) tell('error', [field, dependency], `is in ${other} too`, 'Keep one of them.');
      seen.set(dependency, field);
      if (typeof spec === 'string') specs.set(dependency, spec);
    }
    return specs;
  };
  const dependencies = await section('dependencies');
  const optionalDependencies = await section('optionalDependencies');
  const devDependencies = await section('devDependencies');
  return { name, version, license, dependencies, optionalDependencies, devDependencies };
}

async function dependencyProblem(name: string, spec: Json): Promise<string | undefined> {
  if (!registryName.test(name)) return 'is not a package name';
  if (typeof spec !== 'string') return 'must be a string';
  if (/\p{Cc}|^\s|\s$/u.test(spec)) return `${quoted(spec)} has stray white space`;
  // Loaded only where there are dependencies: most nodes have none, and the parser of ranges is not small.
  const { matchesEverything, rangeProblem } = await import('../lockfile/range.ts');
  return rangeProblem(spec) ?? (matchesEverything(spec) ? `${quoted(spec)} allows every version` : undefined);
}

/** A path in JSON, as text for people. */
export const dotted = (path: readonly string[]): string => path.map(plain).join('.');

const plain = (segment: string): string => (/^[\w@./-]{1,214}$/.test(segment) ? segment : quoted(segment));
