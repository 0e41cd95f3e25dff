import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import type { ImageInfo, ImageKind, ImageStore } from '@glovebox/engine';
import { removeAbandoned } from '@glovebox/engine/staging';
import { asBuildError } from './build-errors.ts';
import { buildImages } from './build-images.ts';
import { removeUnusedFiles } from './file-pool.ts';
import { firstChange, type ImageIndex, imageKinds, readIndex } from './image-index.ts';
import { findInputs, type ImageInputs, type InputOverrides } from './inputs.ts';
import { removeOldImages, retireImage } from './prune.ts';
import { checkSeal, type KnownSeals } from './seal.ts';
import { verifyImage } from './verify.ts';

export interface ImageStoreOptions extends InputOverrides {
  /** Images are kept in `images/` of it. */
  dataDir: string;
}

export interface RootfsImageStore extends ImageStore {
  /**
   * Compute the digest of the current image again from what is on disk.
   *
   * @throws GloveboxError `IMAGE_MISSING`, `IMAGE_CORRUPTED` naming what differs.
   */
  verify(kind: ImageKind): Promise<ImageInfo>;
}

/** Files that no image has used for an hour go; no builder takes so long between adding one and linking it. */
const poolIdleMs = 60 * 60_000;

/**
 * The runtime and the builder image, made on this machine from nothing but the pinned Node.js, the libraries it loads
 * and our own code, and kept unpacked.
 *
 * `current` takes well under 2 ms and reads no file of an image but where one of it was touched; it answers `IMAGE_MISSING`
 * when anything that an image is made from has changed since, or its own bytes have. `build` throws `IMAGE_BUILD_FAILED`, `DISK_FULL` or `DATA_DIR_UNUSABLE`, and what was
 * current before stays so then. The same inputs give the same digests, whatever the path, user, umask and time.
 */
export function createImageStore(options: ImageStoreOptions): RootfsImageStore {
  const dir = join(options.dataDir, 'images');
  const indexPath = join(dir, 'index.json');
  const seals: KnownSeals = new Map();
  let found: Promise<ImageInputs> | undefined;
  const inputs = (): Promise<ImageInputs> => {
    found ??= findInputs(options).catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };

  const infoOf = (index: ImageIndex, kind: ImageKind): ImageInfo => {
    const image = index.images[kind];
    return { kind, ...image, rootfs: join(dir, image.digest.slice('sha256:'.length), 'rootfs') };
  };

  /** Fails closed: what cannot be compared counts as changed. */
  async function whyMissing(index: ImageIndex, kind: ImageKind): Promise<string | undefined> {
    const { rootfs, digest } = infoOf(index, kind);
    const program = join(rootfs, 'usr/bin/node');
    if (!statSync(program, { throwIfNoEntry: false })?.isFile()) return 'its files are gone';
    try {
      const change = firstChange(index, await inputs());
      if (change !== undefined) return `${change} has changed since it was built`;
    } catch (error) {
      return `what it is made from cannot be read: ${(error as Error).message}`;
    }
    try {
      await checkSeal(join(rootfs, '..'), digest, seals);
      return undefined;
    } catch (error) {
      return (error as Error).message.replace(/\.$/, '');
    }
  }

  async function current(kind: ImageKind): Promise<ImageInfo> {
    const index = readIndex(indexPath);
    if (index === undefined) throw new GloveboxError('IMAGE_MISSING', { message: `There is no ${kind} image yet.` });
    const reason = await whyMissing(index, kind);
    if (reason !== undefined)
      throw new GloveboxError('IMAGE_MISSING', { message: `The ${kind} image is of no use: ${reason}.` });
    return infoOf(index, kind);
  }

  async function isComplete(index: ImageIndex): Promise<boolean> {
    for (const kind of imageKinds) if ((await whyMissing(index, kind)) !== undefined) return false;
    return true;
  }

  async function build({
    force = false,
    onProgress = () => {},
  }: Parameters<ImageStore['build']>[0]): Promise<ImageInfo[]> {
    const previous = readIndex(indexPath);
    if (!force && previous !== undefined && (await isComplete(previous)))
      return imageKinds.map((kind) => infoOf(previous, kind));
    // Versions may have changed since they were last looked up.
    found = undefined;
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      removeAbandoned(join(dir, 'staging'));
      const settings = { dir, inputs: await inputs(), previous, progress: onProgress };
      const index = await buildImages({ ...settings, reuse: force ? 'nothing' : 'pool' }).catch((error: unknown) => {
        // A file of the pool was damaged; made anew, it is sound again.
        if (force || !GloveboxError.is(error, 'IMAGE_CORRUPTED')) throw error;
        onProgress('a stored file is damaged, building from the sources');
        return buildImages({ ...settings, reuse: 'nothing' });
      });
      await tidy(previous, index);
      return imageKinds.map((kind) => infoOf(index, kind));
    } catch (error) {
      throw asBuildError(error, dir);
    }
  }

  async function tidy(previous: ImageIndex | undefined, index: ImageIndex): Promise<void> {
    const digests = imageKinds.map((kind) => index.images[kind].digest);
    for (const kind of imageKinds) {
      const before = previous?.images[kind].digest;
      if (before !== undefined && !digests.includes(before)) await retireImage(dir, before);
    }
    await removeOldImages(dir, digests);
    await removeUnusedFiles(join(dir, 'files'), poolIdleMs);
  }

  async function verify(kind: ImageKind): Promise<ImageInfo> {
    const index = readIndex(indexPath);
    if (index === undefined) throw new GloveboxError('IMAGE_MISSING', { message: `There is no ${kind} image yet.` });
    const info = infoOf(index, kind);
    await verifyImage(join(info.rootfs, '..'), info.digest);
    return info;
  }

  return { current, build, verify };
}
