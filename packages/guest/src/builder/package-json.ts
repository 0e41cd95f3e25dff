import { buildLimits } from '@glovebox/contract/build-limits';
import type { UnpackedPackage } from './package-archive.ts';
import { Refusal } from './refusal.ts';

const refuse = (reason: string): Refusal => new Refusal('DEPENDENCY_REFUSED', reason, 'package.json');

/** Scripts that npm runs when it installs a package from a registry. */
const installScripts = ['preinstall', 'install', 'postinstall'];

/**
 * Check a dependency's own package.json, which the registry's metadata need not match: it must be the package that the
 * lockfile names, and must not want to run anything when it is installed. No script ever runs here; a package that needs
 * one would not work, and one that has one is not what it seems.
 *
 * @returns what is refused, and the names of the packages that it needs.
 */
export function inspectPackageJson(
  unpacked: UnpackedPackage,
  locked: { name: string; version: string },
): { refusals: Refusal[]; needs: string[] } {
  const file = unpacked.files.find((candidate) => candidate.path === 'package.json');
  if (file === undefined) return { refusals: [refuse('it has no package.json')], needs: [] };
  if (file.bytes.length > buildLimits.packageJsonBytes)
    return { refusals: [refuse('its package.json is too large')], needs: [] };
  let json: unknown;
  try {
    json = JSON.parse(file.bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return { refusals: [refuse('its package.json is not valid JSON')], needs: [] };
  }
  if (!isObject(json)) return { refusals: [refuse('its package.json is not an object')], needs: [] };

  const refusals: Refusal[] = [];
  for (const field of ['name', 'version'] as const) {
    if (json[field] !== locked[field]) {
      refusals.push(refuse(`its own ${field} is ${show(json[field])}, but the lockfile says ${show(locked[field])}`));
    }
  }
  const scripts = isObject(json.scripts) ? json.scripts : {};
  for (const script of installScripts) {
    if (Object.hasOwn(scripts, script)) refusals.push(refuse(`it has the script ${show(script)}`));
  }
  if (json.gypfile === true) refusals.push(refuse('it builds native code when it is installed'));
  const optional = isObject(json.optionalDependencies) ? json.optionalDependencies : {};
  const needs = isObject(json.dependencies)
    ? Object.keys(json.dependencies).filter((name) => !Object.hasOwn(optional, name))
    : [];
  return { refusals, needs };
}

/** Whether `name` can be found from the package at `path`, by the directories in which Node.js looks. */
export function isReachable(path: string, name: string, packagePaths: ReadonlySet<string>): boolean {
  for (let base = path; ; base = base.slice(0, base.lastIndexOf('/node_modules/'))) {
    if (packagePaths.has(`${base}/node_modules/${name}`)) return true;
    if (!base.includes('/node_modules/')) return packagePaths.has(`node_modules/${name}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 200);
}
