import { GloveboxError } from '@glovebox/contract';
import type { ImageInfo, ImageStore } from './ports.ts';

/**
 * The runtime image of this host. One that is not there, or whose files are gone, is made first: the same inputs give the
 * same digest.
 *
 * @param onProgress told while it is made.
 * @throws GloveboxError `IMAGE_BUILD_FAILED`, `DISK_FULL`; `INTERRUPTED` by the signal: what a half-made image leaves is
 *   removed by whoever makes the next.
 */
export async function requireRuntimeImage(
  images: ImageStore,
  onProgress: (line?: string) => void,
  signal?: AbortSignal,
): Promise<ImageInfo> {
  try {
    return await images.current('runtime');
  } catch (error) {
    if (!GloveboxError.is(error, 'IMAGE_MISSING')) throw error;
  }
  onProgress();
  await Promise.race([images.build({ onProgress }), interruption(signal)]);
  return images.current('runtime');
}

function interruption(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const interrupt = (): void => reject(new GloveboxError('INTERRUPTED'));
    if (signal?.aborted) interrupt();
    else signal?.addEventListener('abort', interrupt, { once: true });
  });
}
