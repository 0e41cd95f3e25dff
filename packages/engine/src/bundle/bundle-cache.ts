import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding, Json } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import { z } from 'zod';
import type { BundleCache, CachedBundle } from '../ports.ts';
import { removeAbandoned, stagedName } from '../staging.ts';

/** What the cache may take on disk, in bytes. The entries that were used longest ago go first. */
const defaultMaxBytes = 256 * 1024 * 1024;

const maxEntryBytes = buildLimits.bundleBytes + buildLimits.sourceMapBytes + 2 * buildLimits.metafileBytes;
const headerLimit = 1024;
const keyPattern = /^[0-9a-f]{64}$/;

const part = z.strictObject({ sizeBytes: z.int().min(0), sha256: z.string() });
const headerSchema = z.strictObject({
  schema: z.literal('glovebox.bundle-cache/1'),
  /** In the file as well, so that a file under another's name is a miss. */
  key: z.string(),
  bundle: part,
  sourceMap: part,
  about: part,
});

/**
 * A bundle cache in a directory, one file an entry: a line of JSON with the sizes and digests of the three parts, then
 * the parts. Each is checked as it is read; whatever does not fit is removed and is a miss. Files appear whole.
 *
 * The directory may be deleted at any time. Failures of the disk are misses: a cache fails no build.
 */
export function createBundleCache(dir: string, maxBytes: number = defaultMaxBytes): BundleCache {
  return {
    get: (key) => readEntry(dir, key),
    put: async (key, bundle) => {
      if (!keyPattern.test(key)) throw new TypeError('a key is 64 hex digits');
      try {
        await writeEntry(dir, key, encodeEntry(key, bundle));
        await prune(dir, maxBytes);
      } catch {
        // No room, no permission: the next build does the work again.
      }
    },
  };
}

async function readEntry(dir: string, key: string): Promise<CachedBundle | undefined> {
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
    const entry = size > maxEntryBytes ? undefined : decodeEntry(key, await file.readFile());
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

function encodeEntry(key: string, { bundle, sourceMap, metafile, warnings }: CachedBundle): Uint8Array[] {
  const about = Buffer.from(JSON.stringify({ metafile, warnings }));
  const header = {
    schema: 'glovebox.bundle-cache/1',
    key,
    bundle: describe(bundle),
    sourceMap: describe(sourceMap),
    about: describe(about),
  } satisfies z.infer<typeof headerSchema>;
  return [Buffer.from(`${JSON.stringify(header)}\n`), bundle, sourceMap, about];
}

function decodeEntry(key: string, file: Buffer): CachedBundle | undefined {
  const lineEnd = file.subarray(0, headerLimit).indexOf(0x0a);
  if (lineEnd === -1) return undefined;
  const parsed = headerSchema.safeParse(tryParse(file.toString('utf8', 0, lineEnd)));
  if (!parsed.success || parsed.data.key !== key) return undefined;
  const parts: Buffer[] = [];
  let at = lineEnd + 1;
  for (const { sizeBytes, sha256 } of [parsed.data.bundle, parsed.data.sourceMap, parsed.data.about]) {
    const bytes = file.subarray(at, at + sizeBytes);
    if (bytes.length !== sizeBytes || digest(bytes) !== sha256) return undefined;
    parts.push(bytes);
    at += sizeBytes;
  }
  const [bundle, sourceMap, about] = parts as [Buffer, Buffer, Buffer];
  const { metafile, warnings } = JSON.parse(about.toString('utf8')) as { metafile: Json; warnings: Finding[] };
  return { bundle, sourceMap, metafile, warnings };
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
const describe = (bytes: Uint8Array) => ({ sizeBytes: bytes.byteLength, sha256: digest(bytes) });

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
