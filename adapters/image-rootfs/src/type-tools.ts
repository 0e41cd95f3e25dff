import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installed, type Program, versionIn } from './inputs.ts';

/** What types are checked with. */
export interface TypeTools {
  /** The compiler: a static binary that looks for the declarations of the language in its own directory. */
  tsc: Program;
  /** That directory; its `lib*.d.ts` are taken. */
  libraries: string;
  /** Declarations of Node.js, and the packages that they need. */
  packages: TypePackage[];
}

export interface TypePackage {
  name: string;
  version: string;
  dir: string;
}

/** The installed ones. @throws GloveboxError `IMAGE_BUILD_FAILED` naming what is not installed. */
export function findTypeTools(architecture: string): TypeTools {
  const compiler = dirname(installed(`@typescript/typescript-linux-${architecture}/package.json`));
  const libraries = join(compiler, 'lib');
  const node = installed('@types/node/package.json');
  const undici = createRequire(node).resolve('undici-types/package.json');
  return {
    tsc: { path: join(libraries, 'tsc'), version: versionIn(compiler) },
    libraries,
    packages: [typePackage('@types/node', node), typePackage('undici-types', undici)],
  };
}

/** Their versions: one version has one content. */
export function typeToolVersions({ tsc, packages }: TypeTools): Record<string, string> {
  return { typescript: tsc.version, ...Object.fromEntries(packages.map(({ name, version }) => [name, version])) };
}

/** Declarations of the language, by name. */
export function languageLibraries({ libraries }: TypeTools): [name: string, bytes: Uint8Array][] {
  return readdirSync(libraries)
    .filter((name) => /^lib\.(?:.+\.)?d\.ts$/.test(name))
    .sort()
    .map((name) => [name, readFileSync(join(libraries, name))]);
}

/** What a type checker reads of a package. Copies for older compilers are left out. */
export function declarationsOf({ dir }: TypePackage): [path: string, bytes: Uint8Array][] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?:^package\.json|\.d\.[cm]?ts)$/.test(path) && !/^ts\d+\.\d+\//.test(path))
    .sort()
    .map((path) => [path, readFileSync(join(dir, path))]);
}

const typePackage = (name: string, manifest: string): TypePackage => ({
  name,
  version: versionIn(dirname(manifest)),
  dir: dirname(manifest),
});
