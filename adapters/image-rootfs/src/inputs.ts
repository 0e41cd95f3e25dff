import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cellEnvironment, cellPaths, cellUid } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';

export interface Program {
  path: string;
  version: string;
}

/** The entry points of our code that goes into images. */
export interface ImageSources {
  harness: string;
  probe: string;
  builder: string;
  sdk: string;
}

export interface ImageInputs {
  architecture: string;
  node: Program;
  esbuild: Program;
  sources: ImageSources;
  /** The deepest directory that holds every source: paths in records are relative to it. */
  sourceRoot: string;
  sdkVersion: string;
  sysprobe: Uint8Array;
  /** `/`, but in tests. */
  systemRoot: string;
}

/** What stands in for the installed packages. */
export interface InputOverrides {
  node?: Program;
  sources?: Partial<ImageSources>;
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
    sdk: overrides.sources?.sdk ?? installed('@glovebox/sdk'),
  };
  const sourceRoot = commonDirectory(Object.values(sources));
  return {
    architecture,
    node: overrides.node ?? programOf(`node-linux-${architecture}`, 'bin/node'),
    esbuild: programOf(`@esbuild/linux-${architecture}`, 'bin/esbuild'),
    sources,
    sourceRoot,
    sdkVersion: versionIn(dirname(sources.sdk)),
    sysprobe: overrides.sysprobe ?? (await import('@glovebox/cell')).assembleSysprobe(),
    systemRoot: overrides.systemRoot ?? '/',
  };
}

/** Identifies what comes from running code, not from files: the system-call probe, the paths, the environment. */
export function codeFingerprint(inputs: ImageInputs): string {
  const hash = createHash('sha256').update(inputs.sysprobe);
  return hash.update(JSON.stringify([inputs.architecture, cellPaths, cellEnvironment, cellUid])).digest('hex');
}

function programOf(packageName: string, path: string): Program {
  const manifest = installed(`${packageName}/package.json`);
  return { path: join(dirname(manifest), path), version: versionIn(dirname(manifest)) };
}

function installed(specifier: string): string {
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

function versionIn(dir: string): string {
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
