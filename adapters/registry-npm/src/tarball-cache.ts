import { mkdir } from 'node:fs/promises';

/** Tarballs that were once found sound, on disk. */
export interface TarballCache {
  /** The bytes, checked against the integrity; undefined when they are not there or were changed, and then they are removed. */
  find(key: string, integrity: string): Promise<Uint8Array | undefined>;
  /** Keep bytes that were checked. What cannot be kept is fetched again next time: a full disk does not fail a fetch. */
  keep(key: string, integrity: string, bytes: Uint8Array): Promise<void>;
}

/** @param dir made on first use, mode 0700. May be deleted at any time. */
export function openTarballCache(dir: string): TarballCache {
  const load = async () => (await import('cacache')).default;

  return {
    async find(key, integrity) {
      const cacache = await load();
      const entry = await cacache.get.info(dir, key).catch(() => null);
      if (entry === null) return undefined;
      // The entry tells that the registry once agreed. Which bytes they are, only the integrity that is asked for says.
      const bytes = await cacache.get.byDigest(dir, integrity, { memoize: false }).catch(() => undefined);
      if (bytes !== undefined) return bytes;
      await cacache.rm.entry(dir, key).catch(() => {});
      // Kept content is never overwritten, so a changed file would stay for ever.
      await cacache.rm.content(dir, integrity).catch(() => {});
      return undefined;
    },

    async keep(key, integrity, bytes) {
      const cacache = await load();
      await mkdir(dir, { recursive: true, mode: 0o700 })
        .then(() => cacache.put(dir, key, bytes, { integrity, algorithms: ['sha512'] }))
        .catch(() => {});
    },
  };
}
