import { GloveboxError } from '@glovebox/contract';
import type { ImageInfo, ImageStore } from './ports.ts';

/**
 * Do something that needs the images. Where they are missing, or their files are gone, they are made and it is done again: the
 * same inputs give the same digests.
 *
 * @param onProgress told while they are made: first without a line.
 * @param action leaves nothing behind when it throws `IMAGE_MISSING`.
 * @throws GloveboxError `IMAGE_BUILD_FAILED`, `DISK_FULL`; `INTERRUPTED` by the signal while they are made: what a half-made
 *   image leaves is removed by whoever makes the next; and as the action does.
 */
export async function withImages<Result>(
  images: ImageStore,
  onProgress: (line?: string) => void,
  signal: AbortSignal | undefined,
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (!GloveboxError.is(error, 'IMAGE_MISSING')) throw error;
  }
  onProgress();
  await Promise.race([images.build({ onProgress }), interruption(signal)]);
  return action();
}

/** The runtime image of this host, as withImages makes it. */
export function requireRuntimeImage(
  images: ImageStore,
  onProgress: (line?: string) => void,
  signal?: AbortSignal,
): Promise<ImageInfo> {
  return withImages(images, onProgress, signal, () => images.current('runtime'));
}

function interruption(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const interrupt = (): void => reject(new GloveboxError('INTERRUPTED'));
    if (signal?.aborted) interrupt();
    else signal?.addEventListener('abort', interrupt, { once: true });
  });
}
