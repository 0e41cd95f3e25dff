import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { requireDirectory, requireSafeTree } from '@glovebox/cell/host';
import { GloveboxError, idPatterns } from '@glovebox/contract';

export interface KnownImages {
  /**
   * The directory of an image that celld may boot.
   *
   * @throws GloveboxError `IMAGE_MISSING`, `PLACE_UNSAFE`.
   */
  require(digest: string): string;
}

/**
 * The images that cells may have: those in one directory, that nobody but root and celld's user could have changed. Each is
 * looked through once: what nobody else may write stays as it was found.
 *
 * @throws GloveboxError `PLACE_UNSAFE`.
 */
export function openImages(directory: string): KnownImages {
  requireDirectory(directory);
  const known = new Set<string>();
  return {
    require(digest) {
      const path = join(directory, digest.slice('sha256:'.length));
      if (!idPatterns.digest.test(digest) || lstatSync(path, { throwIfNoEntry: false }) === undefined) {
        throw new GloveboxError('IMAGE_MISSING', { message: `celld has no image ${digest.slice(0, 80)}.` });
      }
      if (!known.has(digest)) {
        requireDirectory(path);
        // A cell never sees its image's scratch directory, which anybody may write to: its own is mounted there.
        requireSafeTree(join(path, 'rootfs'), ['tmp']);
        known.add(digest);
      }
      return path;
    },
  };
}
