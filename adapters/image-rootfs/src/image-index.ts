import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { idPatterns } from '@glovebox/contract';
import type { ImageInfo, ImageKind } from '@glovebox/engine';
import { asBuildError } from './build-errors.ts';
import { codeFingerprint, type ImageInputs } from './inputs.ts';

/** Which image is current, and what it was made from. Written as one file, by rename. */
export interface ImageIndex {
  schema: 'glovebox.images/2';
  images: Record<ImageKind, Omit<ImageInfo, 'kind' | 'rootfs'>>;
  code: string;
  node: RecordedProgram;
  esbuild: RecordedProgram;
  typescript: RecordedProgram;
  files: RecordedFile[];
}

/** A pinned binary: one version has one content, so its time does not matter. */
export interface RecordedProgram {
  version: string;
  sizeBytes: number;
  sha256: string;
}

export interface RecordedFile {
  /** `source:` and a path below the sources' root, `adapter:` and a file of this package, `system:` and a path of the host. */
  name: string;
  sizeBytes: number;
  mtimeMs: number;
  sha256: string;
}

export const imageKinds: readonly ImageKind[] = ['runtime', 'builder'];

/**
 * @returns undefined when there is none, or none that this version can read: then images are to be built.
 * @throws GloveboxError `DATA_DIR_UNUSABLE` when it cannot be looked at.
 */
export function readIndex(path: string): ImageIndex | undefined {
  try {
    const index = JSON.parse(readFileSync(path, 'utf8')) as ImageIndex;
    if (index.schema !== 'glovebox.images/2' || !Array.isArray(index.files)) return undefined;
    return imageKinds.every((kind) => idPatterns.digest.test(index.images[kind].digest)) ? index : undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined || code === 'ENOENT') return undefined;
    throw asBuildError(error, dirname(path));
  }
}

/** The file that a recorded name stands for in this installation. */
export function pathOf(name: string, inputs: ImageInputs): string {
  const path = name.slice(name.indexOf(':') + 1);
  if (name.startsWith('source:')) return join(inputs.sourceRoot, path);
  if (name.startsWith('adapter:')) return join(import.meta.dirname, path);
  return path;
}

export function recordFile(name: string, inputs: ImageInputs): RecordedFile {
  const path = pathOf(name, inputs);
  const { size, mtimeMs } = statSync(path);
  return { name, sizeBytes: size, mtimeMs, sha256: sha256Of(path) };
}

/**
 * The first thing that is not as it was when the images were made; undefined when all is.
 *
 * It runs before every run, so it reads only what seems touched. The calls are synchronous on purpose: some fifty of
 * them take a fraction of a millisecond, which one turn of the thread pool would cost.
 */
export function firstChange(index: ImageIndex, inputs: ImageInputs): string | undefined {
  if (index.code !== codeFingerprint(inputs)) return 'what the cell package puts in';
  const programs = { node: inputs.node, esbuild: inputs.esbuild, typescript: inputs.types.tsc };
  for (const name of ['node', 'esbuild', 'typescript'] as const) {
    const { version, sizeBytes } = index[name];
    const program = programs[name];
    const now = statSync(program.path, { throwIfNoEntry: false });
    if (program.version !== version || now?.size !== sizeBytes) return `${name}@${version}`;
  }
  return index.files.find((file) => isChanged(file, pathOf(file.name, inputs)))?.name;
}

function isChanged(file: RecordedFile, path: string): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  if (now?.size !== file.sizeBytes) return true;
  // A fresh clone and a checkout back and forth change times alone.
  return now.mtimeMs !== file.mtimeMs && sha256Of(path) !== file.sha256;
}

const sha256Of = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');
