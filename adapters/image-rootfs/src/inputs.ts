import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cellEnvironment, cellPaths, cellUid } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import { typeCheckConfig } from '@glovebox/sdk/tooling';
import { findTypeTools, type TypeTools, typeToolVersions } from './type-tools.ts';

export interface Program {
  path: string;
  version: string;
}

/** The entry points of our code that goes into images. */
export interface ImageSources {
  harness: string;
  probe: string;
  builder: string;
  typeChecker: string;
  tester: string;
  sdk: string;
}

export interface ImageInputs {
  architecture: string;
  node: Program;
  esbuild: Program;
  types: TypeTools;
  sources: ImageSources;
  /** The deepest directory that holds every source: paths in records are relative to it. */
  sourceRoot: string;
  sdkVersion: string;
  stdio: Uint8Array;
  sysprobe: Uint8Array;
  /** `/`, but in tests. */
  systemRoot: string;
}

/** What stands in for the installed packages. */
export interface InputOverrides {
  node?: Program;
  types?: TypeTools;
  sources?: Partial<ImageSources>;
  stdio?: Uint8Array;
  sysprobe?: Uint8Array;
  systemRoot?: string;
}

const require = createRequire(import.meta.url);

/** Find everything that images are made from. @throws GloveboxError `IMAGE_BUILD_FAILED` naming what is not installed. */
export async function findInputs(overrides: InputOverrides): Promise<ImageInputs> {
  const architecture = process.arch;
  const sources: ImageSources = {
    harness: overrides.sources?.harness ?? installed('@glovebox/guest/harness'),
    probe: overrides.sources?.probe ?? installed('@glovebox/guest/probe'),
    builder: overrides.sources?.builder ?? installed('@glovebox/guest/builder'),
    typeChecker: overrides.sources?.typeChecker ?? installed('@glovebox/guest/type-checker'),
    tester: overrides.sources?.tester ?? installed('@glovebox/guest/tester'),
    sdk: overrides.sources?.sdk ?? installed('@glovebox/sdk'),
  };
  const sourceRoot = commonDirectory(Object.values(sources));
  const { assembleStdioShim, assembleSysprobe } = await import('@glovebox/cell');
  return {
    architecture,
    node: overrides.node ?? programOf(`node-linux-${architecture}`, 'bin/node'),
    esbuild: programOf(`@esbuild/linux-${architecture}`, 'bin/esbuild'),
    types: overrides.types ?? findTypeTools(architecture),
    sources,
    sourceRoot,
    sdkVersion: versionIn(dirname(sources.sdk)),
    stdio: overrides.stdio ?? assembleStdioShim(),
    sysprobe: overrides.sysprobe ?? assembleSysprobe(),
    systemRoot: overrides.systemRoot ?? '/',
  };
}

/**
 * Identifies what comes from running code, or from a version, not from files that are looked at: the programs that are
 * assembled, the paths, the environment, how types are checked and by what.
 */
export function codeFingerprint(inputs: ImageInputs): string {
  const versions = typeToolVersions(inputs.types);
  const programs = [inputs.stdio, inputs.sysprobe].map((bytes) => createHash('sha256').update(bytes).digest('hex'));
  const types = [typeCheckConfig(cellPaths), versions];
  const parts = [inputs.architecture, cellPaths, cellEnvironment, cellUid, ...types, ...programs];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function programOf(packageName: string, path: string): Program {
  const manifest = installed(`${packageName}/package.json`);
  return { path: join(dirname(manifest), path), version: versionIn(dirname(manifest)) };
}

export function installed(specifier: string): string {
  try {
    return require.resolve(specifier);
  } catch (cause) {
    throw new GloveboxError('IMAGE_BUILD_FAILED', {
      message: `${specifier} is not installed.`,
      hint: 'Run npm ci in the directory of Glovebox, with optional dependencies.',
      cause,
    });
  }
}

export function versionIn(dir: string): string {
  return (JSON.parse(readFileSync(nearestManifest(dir), 'utf8')) as { version: string }).version;
}

/** The package.json at or above a directory. */
export function nearestManifest(dir: string): string {
  for (let at = dir; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return join(at, 'package.json');
    if (at === dirname(at)) throw new GloveboxError('IMAGE_BUILD_FAILED', { message: `${dir} is in no package.` });
  }
}

function commonDirectory(paths: string[]): string {
  const [first = [], ...others] = paths.map((path) => dirname(path).split('/'));
  const shared = first.findIndex((part, i) => others.some((other) => other[i] !== part));
  return (shared < 0 ? first : first.slice(0, shared)).join('/') || '/';
}
