import type { Finding, Json } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import { createCacheFolder } from '../cache-folder.ts';
import type { BundleCache } from '../ports.ts';

/** What the cache may take on disk, in bytes. */
const defaultMaxBytes = 256 * 1024 * 1024;

const maxEntryBytes = buildLimits.bundleBytes + buildLimits.sourceMapBytes + 2 * buildLimits.metafileBytes;

/** A bundle cache in a directory, which may be deleted at any time. See CacheFolder. */
export function createBundleCache(dir: string, maxBytes: number = defaultMaxBytes): BundleCache {
  const folder = createCacheFolder(dir, { schema: 'glovebox.bundle-cache/2', parts: 3, maxEntryBytes, maxBytes });
  return {
    async get(key) {
      const [bundle, sourceMap, about] = (await folder.get(key)) ?? [];
      if (bundle === undefined || sourceMap === undefined || about === undefined) return undefined;
      const { metafile, warnings } = JSON.parse(about.toString('utf8')) as { metafile: Json; warnings: Finding[] };
      return { bundle, sourceMap, metafile, warnings };
    },
    async put(key, { bundle, sourceMap, metafile, warnings }) {
      await folder.put(key, [bundle, sourceMap, Buffer.from(JSON.stringify({ metafile, warnings }))]);
    },
  };
}
