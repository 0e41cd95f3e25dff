import type { Registry } from './registry.ts';
import { packageTgz } from './tar-writer.ts';
import { goodPackage } from './validation.ts';

type Files = { [path: string]: string | Uint8Array | null };

/** A package of the lockfile, and what the registry has of it. */
export interface LockedEntry {
  /** 1.0.0 where it is left out. */
  version?: string;
  files?: { [path: string]: string };
  /** In its package.json. */
  json?: { [field: string]: unknown };
  /** The archive, where it is not made of these. */
  archive?: Uint8Array;
  /** In its entry of the lockfile; undefined takes a field away. */
  entry?: { [field: string]: unknown };
}

export interface Project {
  /** By their place, such as `node_modules/a/node_modules/b`. */
  packages: { [path: string]: LockedEntry };
  /** Those that package.json names; all of the first level where it is left out. */
  direct?: string[];
  /** In package.json, and in the lockfile's entry for it. */
  packageJson?: { [field: string]: unknown };
  /** Only in the lockfile's entry for the package itself, in place of what package.json has. */
  root?: { [field: string]: unknown };
  /** In the lockfile. */
  lock?: { [field: string]: unknown };
  files?: Files;
}

export interface ProjectFiles {
  files: Map<string, Uint8Array>;
  lockText: string;
}

/** A node package with these dependencies, each published in the registry as the lockfile has it. */
export function lockedProject(registry: Registry, project: Project): ProjectFiles {
  const { packages, packageJson = {}, lock = {}, files = {} } = project;
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const direct = project.direct ?? Object.keys(packages).filter((path) => path.split('node_modules/').length === 2);
  const dependencies = Object.fromEntries(direct.map((path) => [nameOf(path), packages[path]?.version ?? '1.0.0']));
  const entries = Object.entries(packages).map(([path, { version = '1.0.0', json = {}, archive, entry, ...has }]) => {
    const name = nameOf(path);
    const bytes = archive ?? packageTgz(name, version, { 'index.js': '', ...has.files }, { type: 'module', ...json });
    const integrity = registry.publish(name, version, bytes);
    const edges = 'dependencies' in json ? { dependencies: json.dependencies } : {};
    return [path, { version, integrity, ...edges, ...entry }];
  });
  const own = { dependencies, ...packageJson };
  const root = project.root ?? own;
  const lockText = JSON.stringify(
    { name: 'adder', lockfileVersion: 3, packages: { '': root, ...Object.fromEntries(entries) }, ...lock },
    undefined,
    1,
  );
  const head = { name: 'adder', version: '1.0.0', license: 'Apache-2.0', private: true, type: 'module' };
  return {
    lockText,
    files: goodPackage({
      'package.json': JSON.stringify({ ...head, ...own }, undefined, 2),
      'package-lock.json': lockText,
      ...files,
    }),
  };
}

/** The number of the first line that holds a text. */
export const lineOf = (text: string, part: string): number =>
  text.split('\n').findIndex((line) => line.includes(part)) + 1;
