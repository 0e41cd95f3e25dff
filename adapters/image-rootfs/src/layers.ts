import { posix } from 'node:path';
import { cellPaths, cellUid } from '@glovebox/cell';
import { sdkPackage, sdkTypeDeclarations, typeCheckConfig } from '@glovebox/sdk/tooling';
import type { Precompiled } from './code-cache.ts';
import type { FileContent } from './file-pool.ts';
import type { SharedLibrary } from './libraries.ts';
import { declarationsOf, languageLibraries, type TypeTools } from './type-tools.ts';

export type LayerEntry =
  | { kind: 'directory'; path: string; mode: number }
  | { kind: 'file'; path: string; mode: number; content: FileContent };

/** One step of an image. Paths are relative to the root; entries are sorted by path, each directory before what is in it. */
export interface Layer {
  name: 'node' | 'guest' | 'toolchain';
  /** Stands in the image's history. */
  createdBy: string;
  entries: LayerEntry[];
}

/** Nothing in an image can be written, whoever owns it. */
const modes = { directory: 0o755, data: 0o444, program: 0o555, scratch: 0o1777 } as const;

type FileTable = { path: string; mode: number; content: FileContent }[];

/** The base: Node.js, what it loads, the mount points, and a user for `os.userInfo()`. No shell, no package manager, no CA certificates. */
export function nodeLayer(
  node: { source: FileContent; version: string },
  libraries: { library: SharedLibrary; content: FileContent }[],
): Layer {
  const mountPoints: LayerEntry[] = [
    { kind: 'directory', path: 'dev', mode: modes.directory },
    { kind: 'directory', path: 'proc', mode: modes.directory },
    { kind: 'directory', path: cellPaths.scratch.slice(1), mode: modes.scratch },
  ];
  const files: FileTable = [
    program(cellPaths.node, node.source),
    ...libraries.map(({ library, content }) => program(library.imagePath, content)),
    text(
      '/etc/passwd',
      `root:x:0:0::/:/nonexistent\ncell:x:${cellUid}:${cellUid}::${cellPaths.scratch}:/nonexistent\n`,
    ),
    text('/etc/group', `root:x:0:\ncell:x:${cellUid}:\n`),
    text('/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files\n'),
  ];
  return layer('node', `node@${node.version} and its libraries`, files, mountPoints, []);
}

/** Our code that runs in every cell. */
export function guestLayer(
  guest: { harness: Precompiled; probe: Uint8Array; stdio: Uint8Array; sysprobe: Uint8Array },
  below: Layer[],
): Layer {
  const files = [
    data(cellPaths.harness, { bytes: guest.harness.loader }),
    data(cellPaths.harnessScript, { bytes: guest.harness.script }),
    data(cellPaths.harnessCode, { bytes: guest.harness.code }),
    data(cellPaths.probe, { bytes: guest.probe }),
    program(cellPaths.stdio, { bytes: guest.stdio }),
    program(cellPaths.sysprobe, { bytes: guest.sysprobe }),
  ];
  return layer('guest', 'guest', files, [], below);
}

/** What only a builder cell needs. */
export interface Toolchain {
  builder: Uint8Array;
  typeChecker: Uint8Array;
  tester: Uint8Array;
  esbuild: FileContent;
  tsc: FileContent;
  types: TypeTools;
  /** A package directory that the bundler finds. The testing kit is in another, for tests alone. */
  sdk: Uint8Array;
  versions: { esbuild: string; sdk: string; [name: string]: string };
}

export function toolchainLayer(toolchain: Toolchain, below: Layer[]): Layer {
  const manifest = {
    name: '@glovebox/sdk',
    version: toolchain.versions.sdk,
    type: 'module',
    sideEffects: false,
    exports: { '.': './index.js' },
  };
  const files = [
    data(cellPaths.builder, { bytes: toolchain.builder }),
    data(cellPaths.typeChecker, { bytes: toolchain.typeChecker }),
    data(cellPaths.tester, { bytes: toolchain.tester }),
    program(cellPaths.esbuild, toolchain.esbuild),
    data(`${cellPaths.sdk}/index.js`, { bytes: toolchain.sdk }),
    text(`${cellPaths.sdk}/package.json`, `${JSON.stringify(manifest)}\n`),
    ...[...sdkPackage()].map(([path, source]) => text(`${cellPaths.testingSdk}/${path}`, source)),
    ...typeFiles(toolchain.tsc, toolchain.types),
  ];
  const versions = Object.entries(toolchain.versions).map(([name, version]) => `${name}@${version}`);
  return layer('toolchain', versions.sort().join(' '), files, [], below);
}

function typeFiles(tsc: FileContent, types: TypeTools): FileTable {
  const declarations = sdkTypeDeclarations();
  return [
    program(cellPaths.tsc, tsc),
    text(cellPaths.tsconfig, typeCheckConfig(cellPaths)),
    text(`${cellPaths.sdkTypes}/index.d.ts`, declarations.index),
    text(`${cellPaths.sdkTypes}/testing.d.ts`, declarations.testing),
    ...languageLibraries(types).map(([name, bytes]) => data(posix.join(posix.dirname(cellPaths.tsc), name), { bytes })),
    ...types.packages.flatMap((pkg) =>
      declarationsOf(pkg).map(([path, bytes]) => data(`${cellPaths.typePackages}/${pkg.name}/${path}`, { bytes })),
    ),
  ];
}

function layer(name: Layer['name'], createdBy: string, files: FileTable, extra: LayerEntry[], below: Layer[]): Layer {
  const known = new Set(below.flatMap(({ entries }) => entries.map(({ path }) => path)));
  const entries: LayerEntry[] = [...extra];
  for (const { path: absolute, mode, content } of files) {
    const path = posix.normalize(absolute).slice(1);
    entries.push({ kind: 'file', path, mode, content });
    for (let dir = posix.dirname(path); dir !== '.'; dir = posix.dirname(dir)) {
      if (known.has(dir)) continue;
      known.add(dir);
      entries.push({ kind: 'directory', path: dir, mode: modes.directory });
    }
  }
  return { name, createdBy, entries: entries.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

const data = (path: string, content: FileContent) => ({ path, mode: modes.data, content });
const program = (path: string, content: FileContent) => ({ path, mode: modes.program, content });
const text = (path: string, value: string) => data(path, { bytes: Buffer.from(value) });
