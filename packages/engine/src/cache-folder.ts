import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { removeAbandoned, stagedName } from './staging.ts';

const headerLimit = 1024;
const keyPattern = /^[0-9a-f]{64}$/;

const headerSchema = z.strictObject({
  schema: z.string(),
  /** In the file as well, so that a file under another's name is a miss. */
  key: z.string(),
  parts: z.array(z.strictObject({ sizeBytes: z.int().min(0), sha256: z.string() })).max(8),
});

export interface CacheFolderOptions {
  /** What an entry is. A file of another schema is a miss. */
  schema: string;
  /** How many parts an entry has; at most 8. */
  parts: number;
  /** A longer file is a miss. */
  maxEntryBytes: number;
  /** What the folder may take on disk, in bytes. The entries that were used longest ago go first. */
  maxBytes: number;
}

/** Parts of bytes by a key of 64 hex digits. */
export interface CacheFolder {
  get(key: string): Promise<Buffer[] | undefined>;
  /** @throws TypeError for what is no key. */
  put(key: string, parts: readonly Uint8Array[]): Promise<void>;
}

/**
 * A cache in a directory, one file an entry: a line of JSON with the sizes and digests of the parts, then the parts. Each is
 * checked as it is read; whatever does not fit is removed and is a miss. Files appear whole.
 *
 * The directory may be deleted at any time. Failures of the disk are misses: a cache fails nothing.
 */
export function createCacheFolder(dir: string, options: CacheFolderOptions): CacheFolder {
  return {
    get: (key) => readEntry(dir, key, options),
    put: async (key, parts) => {
      if (!keyPattern.test(key)) throw new TypeError('a key is 64 hex digits');
      try {
        await writeEntry(dir, key, encodeEntry(key, parts, options));
        await prune(dir, options.maxBytes);
      } catch {
        // No room, no permission: the next one does the work again.
      }
    },
  };
}

async function readEntry(dir: string, key: string, options: CacheFolderOptions): Promise<Buffer[] | undefined> {
  if (!keyPattern.test(key)) return undefined;
  const path = join(dir, key);
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const { size } = await file.stat();
    const entry = size > options.maxEntryBytes ? undefined : decodeEntry(key, await file.readFile(), options);
    if (entry === undefined) await rm(path, { force: true });
    else {
      const now = new Date();
      await utimes(path, now, now).catch(() => {});
    }
    return entry;
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

function encodeEntry(key: string, parts: readonly Uint8Array[], { schema }: CacheFolderOptions): Uint8Array[] {
  const described = parts.map((bytes) => ({ sizeBytes: bytes.byteLength, sha256: digest(bytes) }));
  const header = { schema, key, parts: described } satisfies z.infer<typeof headerSchema>;
  return [Buffer.from(`${JSON.stringify(header)}\n`), ...parts];
}

function decodeEntry(key: string, file: Buffer, options: CacheFolderOptions): Buffer[] | undefined {
  const lineEnd = file.subarray(0, headerLimit).indexOf(0x0a);
  if (lineEnd === -1) return undefined;
  const parsed = headerSchema.safeParse(tryParse(file.toString('utf8', 0, lineEnd)));
  if (!parsed.success) return undefined;
  const header = parsed.data;
  if (header.key !== key || header.schema !== options.schema || header.parts.length !== options.parts) return undefined;
  const parts: Buffer[] = [];
  let at = lineEnd + 1;
  for (const { sizeBytes, sha256 } of header.parts) {
    const bytes = file.subarray(at, at + sizeBytes);
    if (bytes.length !== sizeBytes || digest(bytes) !== sha256) return undefined;
    parts.push(bytes);
    at += sizeBytes;
  }
  return at === file.length ? parts : undefined;
}

async function writeEntry(dir: string, key: string, parts: Uint8Array[]): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const temporary = join(dir, stagedName());
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      for (const bytes of parts) await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(dir, key));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

async function prune(dir: string, maxBytes: number): Promise<void> {
  removeAbandoned(dir);
  const entries: { path: string; size: number; usedMs: number }[] = [];
  for (const name of await readdir(dir)) {
    const path = join(dir, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    if (keyPattern.test(name)) entries.push({ path, size: found.size, usedMs: found.mtimeMs });
  }
  entries.sort((a, b) => b.usedMs - a.usedMs);
  let total = 0;
  for (const { path, size } of entries) {
    total += size;
    if (total > maxBytes) await rm(path, { force: true });
  }
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
