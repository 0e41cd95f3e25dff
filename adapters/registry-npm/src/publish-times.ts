import { mkdir } from 'node:fs/promises';

/** Since when a registry has had versions, on disk. A version with its integrity is published once, so it never changes. */
export interface PublishTimes {
  /** Milliseconds since the epoch; undefined when it is not there or was changed. */
  find(key: string): Promise<number | undefined>;
  /** What cannot be kept is asked for again next time. */
  keep(key: string, publishedAtMs: number): Promise<void>;
}

/** @param dir that of the tarballs: made on first use, mode 0700. May be deleted at any time. */
export function openPublishTimes(dir: string): PublishTimes {
  const load = async () => (await import('cacache')).default;

  return {
    async find(key) {
      const cacache = await load();
      const entry = await cacache.get(dir, key, { memoize: false }).catch(() => undefined);
      return entry === undefined ? undefined : readPublishTime(new TextDecoder().decode(entry.data));
    },

    async keep(key, publishedAtMs) {
      const cacache = await load();
      await mkdir(dir, { recursive: true, mode: 0o700 })
        .then(() =>
          cacache.put(dir, key, Buffer.from(new Date(publishedAtMs).toISOString()), { algorithms: ['sha512'] }),
        )
        .catch(() => {});
    },
  };
}

const datePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|\+00:00)$/;

/** @returns undefined unless it is a date of ISO 8601 in UTC, with a day that there is, as registries and mirrors write it. */
export function readPublishTime(unsafeTime: unknown): number | undefined {
  if (typeof unsafeTime !== 'string' || unsafeTime.length > 40) return undefined;
  const seconds = datePattern.exec(unsafeTime)?.[1];
  const ms = seconds === undefined ? Number.NaN : Date.parse(unsafeTime);
  // A date that rolls over, such as 30 February, is another one than was written.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== seconds ? undefined : ms;
}
