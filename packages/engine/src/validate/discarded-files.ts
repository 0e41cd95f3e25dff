import { createHash } from 'node:crypto';
import { GloveboxError } from '@glovebox/contract';
import type { BlobStore } from '../ports.ts';

/** Takes files for their digests and keeps none: what a fixture writes belongs to no run. */
export const discardedFiles: BlobStore = {
  async put(source, maxBytes) {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for await (const chunk of source) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes)
        throw new GloveboxError('FILES_LIMIT', { message: `The file is longer than ${maxBytes} bytes.` });
      hash.update(chunk);
    }
    return { digest: `sha256:${hash.digest('hex')}`, sizeBytes };
  },
  // biome-ignore lint/correctness/useYield: there is nothing that could be read
  async *read(digest) {
    throw new GloveboxError('NOT_FOUND', { message: `${digest} was not kept.` });
  },
};
