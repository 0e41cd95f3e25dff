import { GloveboxError } from '@glovebox/contract';
import type { EngineApi } from './engine-api.ts';

/** Makes sure that an engine has an image, by its exact id: content, and not a name that can be moved. */
export interface EngineImages {
  /** @throws GloveboxError `ENGINE_UNREACHABLE`, `ENGINE_REFUSED`, `IMAGE_MISSING`, what the archive throws. */
  provide(digest: string): Promise<void>;
}

export function createEngineImages(
  api: EngineApi,
  archiveOf: (digest: string) => AsyncIterable<Uint8Array>,
): EngineImages {
  /** Several hundred megabytes: cells that boot at the same time wait for one and the same. */
  const loading = new Map<string, Promise<void>>();

  const load = async (digest: string): Promise<void> => {
    if ((await api.findImage(digest)) === digest) return;
    await api.loadImage(archiveOf(digest));
    const found = await api.findImage(digest);
    if (found === digest) return;
    throw new GloveboxError('ENGINE_REFUSED', {
      message: `The container engine took the image ${digest} in and knows ${found ?? 'none of that id'}.`,
    });
  };

  return {
    provide(digest) {
      const running = loading.get(digest);
      if (running !== undefined) return running;
      const started = load(digest).finally(() => loading.delete(digest));
      loading.set(digest, started);
      return started;
    },
  };
}
