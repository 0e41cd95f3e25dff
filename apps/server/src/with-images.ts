import { GloveboxError } from '@glovebox/contract';
import type { ImageStore } from '@glovebox/engine';

/**
 * Do something that needs the images; where they are missing, make them and do it again. What a half-made image leaves is
 * removed by whoever comes next.
 *
 * @param action leaves nothing behind when it throws `IMAGE_MISSING`.
 * @throws GloveboxError `INTERRUPTED` as soon as the signal is aborted while they are made, and as ImageStore.build does.
 */
export async function withImages<Result>(
  { signal, images, onProgress }: { signal: AbortSignal; images: ImageStore; onProgress: (line: string) => void },
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (!GloveboxError.is(error, 'IMAGE_MISSING')) throw error;
  }
  await Promise.race([images.build({ onProgress }), aborted(signal)]);
  return action();
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const interrupt = (): void => reject(new GloveboxError('INTERRUPTED'));
    if (signal.aborted) interrupt();
    else signal.addEventListener('abort', interrupt, { once: true });
  });
}
