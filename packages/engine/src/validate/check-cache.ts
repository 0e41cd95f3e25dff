import { createCacheFolder } from '../cache-folder.ts';
import type { CheckCache } from '../ports.ts';

/** What the cache may take on disk, in bytes: verdicts are small. */
const defaultMaxBytes = 16 * 1024 * 1024;
const maxEntryBytes = 1024 * 1024;

/** Verdicts of checks in a directory, which may be deleted at any time. See CacheFolder. */
export function createCheckCache(dir: string, maxBytes: number = defaultMaxBytes): CheckCache {
  const folder = createCacheFolder(dir, { schema: 'glovebox.check-cache/1', parts: 1, maxEntryBytes, maxBytes });
  return {
    get: async (key) => (await folder.get(key))?.[0]?.toString('utf8'),
    put: (key, text) => folder.put(key, [Buffer.from(text)]),
  };
}
