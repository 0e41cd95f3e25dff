import { GloveboxError } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { requireRuntimeImage } from './images.ts';
import type { ImageInfo, ImageStore } from './ports.ts';

const image: ImageInfo = {
  kind: 'runtime',
  digest: 'sha256:0',
  sizeBytes: 1,
  createdAtMs: 0,
  contents: {},
  rootfs: '/',
};

/** A store without an image, until it is built. */
function emptyStore(build: () => Promise<void>): ImageStore & { asked: string[] } {
  const asked: string[] = [];
  let built = false;
  return {
    asked,
    async current(kind) {
      asked.push(`current ${kind}`);
      if (!built) throw new GloveboxError('IMAGE_MISSING');
      return image;
    },
    async build({ onProgress }) {
      asked.push('build');
      onProgress?.('a layer');
      await build();
      built = true;
      return [image];
    },
    verify: async () => image,
  };
}

it('makes an image that is not there, tells of it, and makes none that is', async () => {
  const store = emptyStore(async () => undefined);
  const told: (string | undefined)[] = [];
  expect(await requireRuntimeImage(store, (line) => told.push(line))).toBe(image);
  expect(told).toEqual([undefined, 'a layer']);
  expect(store.asked).toEqual(['current runtime', 'build', 'current runtime']);
  await requireRuntimeImage(store, (line) => told.push(line));
  expect(store.asked.slice(3)).toEqual(['current runtime']);
});

it('waits for no image once it is interrupted', async () => {
  const interrupt = new AbortController();
  const waiting = requireRuntimeImage(
    emptyStore(() => new Promise(() => undefined)),
    () => interrupt.abort(),
    interrupt.signal,
  );
  await expect(waiting).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

it('tells why an image could not be made, and what else is wrong with the one that is there', async () => {
  const broken = emptyStore(async () => {
    throw new GloveboxError('DISK_FULL');
  });
  await expect(requireRuntimeImage(broken, () => undefined)).rejects.toMatchObject({ code: 'DISK_FULL' });
  const odd: ImageStore = {
    ...broken,
    current: async () => {
      throw new GloveboxError('IMAGE_CORRUPTED');
    },
  };
  await expect(requireRuntimeImage(odd, () => undefined)).rejects.toMatchObject({ code: 'IMAGE_CORRUPTED' });
});
