import { GloveboxError } from '@glovebox/contract';
import type { ImageStore } from '@glovebox/engine';

/**
 * On first use the images are made. What a half-made one leaves is removed by whoever comes next.
 *
 * @throws GloveboxError `INTERRUPTED` as soon as the signal is aborted, and as ImageStore.build does.
 */
export async function requireImages(
  signal: AbortSignal,
  images: ImageStore,
  onProgress: (line: string) => void,
): Promise<void> {
  try {
    await images.current('builder');
  } catch (error) {
    if (!GloveboxError.is(error, 'IMAGE_MISSING')) throw error;
    await Promise.race([images.build({ onProgress }), aborted(signal)]);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const interrupt = (): void => reject(new GloveboxError('INTERRUPTED'));
    if (signal.aborted) interrupt();
    else signal.addEventListener('abort', interrupt, { once: true });
  });
}
