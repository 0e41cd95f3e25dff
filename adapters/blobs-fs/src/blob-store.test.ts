import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { stagedName } from '@glovebox/engine/staging';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBlobStore } from './blob-store.ts';

let home: string;
let dir: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-blobs-'));
  dir = join(home, 'blobs');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const limit = 64 * 1024 * 1024;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const pathOf = (digest: string): string => join(dir, 'sha256', digest.slice(7, 9), digest.slice(7));

async function* chunks(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

/** Files and links below, as paths relative to the store. */
const everyFile = (): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();

const failure = (promise: Promise<unknown>): Promise<GloveboxError> =>
  promise.then(
    () => expect.fail('was not refused'),
    (error: unknown) => error as GloveboxError,
  );

describe('what is stored', () => {
  it.each([0, 1, 256 * 1024, 256 * 1024 + 1, 3_000_000])('gives back %i bytes as they came in', async (size) => {
    const blobs = createBlobStore(dir);
    const bytes = randomBytes(size);
    const stored = await blobs.put(chunks(bytes.subarray(0, size / 2), bytes.subarray(size / 2)), limit);
    expect(stored).toEqual({ digest: `sha256:${sha256(bytes)}`, sizeBytes: size });
    expect((await collect(blobs.read(stored.digest))).equals(bytes)).toBe(true);
    expect((await collect(createBlobStore(dir).read(stored.digest))).equals(bytes)).toBe(true);
  });

  it('is one private file however often it is stored, also at the same time', async () => {
    const blobs = createBlobStore(dir);
    const bytes = randomBytes(100_000);
    const stored = await Promise.all(Array.from({ length: 8 }, () => blobs.put(chunks(bytes), limit)));
    expect(new Set(stored.map(({ digest }) => digest)).size).toBe(1);
    const hex = sha256(bytes);
    expect(everyFile()).toEqual([`sha256/${hex.slice(0, 2)}/${hex}`]);
    expect(statSync(pathOf(`sha256:${hex}`)).mode & 0o7777).toBe(0o600);
    for (const at of [dir, join(dir, 'sha256'), join(dir, 'sha256', hex.slice(0, 2)), join(dir, 'staging')]) {
      expect(statSync(at).mode & 0o7777).toBe(0o700);
    }
  });
});

describe('limits', () => {
  it('accepts a source of exactly the limit and refuses one byte more, keeping nothing of it', async () => {
    const blobs = createBlobStore(dir);
    const bytes = randomBytes(1000);
    const { digest } = await blobs.put(chunks(bytes), 1000);
    const before = everyFile();
    expect(await failure(blobs.put(chunks(bytes, Buffer.of(1)), 1000))).toMatchObject({ code: 'FILES_LIMIT' });
    expect(everyFile()).toEqual(before);
    expect((await collect(blobs.read(digest))).equals(bytes)).toBe(true);
  });

  it('stops reading an endless source at the limit', async () => {
    let given = 0;
    let closed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          given++;
          yield Buffer.alloc(1024);
        }
      } finally {
        closed = true;
      }
    }
    expect(await failure(createBlobStore(dir).put(endless(), 10 * 1024))).toMatchObject({ code: 'FILES_LIMIT' });
    expect({ given, closed }).toEqual({ given: 11, closed: true });
  });

  it('passes on the error of a source that breaks off, keeps nothing, and stores the next one', async () => {
    const blobs = createBlobStore(dir);
    async function* breaks(): AsyncGenerator<Uint8Array> {
      yield randomBytes(5000);
      throw new GloveboxError('CHANNEL_CORRUPTED');
    }
    expect(await failure(blobs.put(breaks(), limit))).toMatchObject({ code: 'CHANNEL_CORRUPTED' });
    expect(everyFile()).toEqual([]);
    expect((await blobs.put(chunks(Buffer.from('next')), limit)).sizeBytes).toBe(4);
  });
});

describe('what cannot be read', () => {
  it('reports a digest that is not stored, and one that is no digest, as NOT_FOUND without touching a path', async () => {
    const blobs = createBlobStore(dir);
    await blobs.put(chunks(Buffer.from('x')), limit);
    writeFileSync(join(home, 'secret'), 'canary');
    for (const digest of [
      `sha256:${'0'.repeat(64)}`,
      'sha256:../secret',
      '../secret',
      `sha256:${'A'.repeat(64)}`,
      '',
    ]) {
      expect(await failure(collect(blobs.read(digest)))).toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('never hands out all the bytes of a damaged blob', async () => {
    const blobs = createBlobStore(dir);
    const { digest } = await blobs.put(chunks(randomBytes(700_000)), limit);
    const bytes = readFileSync(pathOf(digest));
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    writeFileSync(pathOf(digest), bytes);
    let seen = 0;
    const read = async (): Promise<void> => {
      for await (const part of blobs.read(digest)) seen += part.byteLength;
    };
    expect(await failure(read())).toMatchObject({ code: 'BLOB_CORRUPTED' });
    expect(seen).toBeLessThan(700_000);
  });

  it.each(['cut short', 'extended', 'emptied'])(
    'tells that a blob was %s, and storing its bytes again mends it',
    async (how) => {
      const blobs = createBlobStore(dir);
      const bytes = randomBytes(1000);
      const { digest } = await blobs.put(chunks(bytes), limit);
      const damaged = {
        'cut short': bytes.subarray(1),
        extended: Buffer.concat([bytes, bytes]),
        emptied: Buffer.alloc(0),
      }[how];
      writeFileSync(pathOf(digest), damaged ?? '');
      expect(await failure(collect(blobs.read(digest)))).toMatchObject({ code: 'BLOB_CORRUPTED' });
      await blobs.put(chunks(bytes), limit);
      expect((await collect(blobs.read(digest))).equals(bytes)).toBe(true);
    },
  );

  it.each(['link', 'dangling link', 'pipe', 'directory'])('refuses a %s in the place of a blob', async (kind) => {
    const blobs = createBlobStore(dir);
    const bytes = Buffer.from('the same bytes elsewhere');
    const { digest } = await blobs.put(chunks(bytes), limit);
    const elsewhere = join(dir, 'elsewhere');
    writeFileSync(elsewhere, bytes);
    rmSync(pathOf(digest));
    if (kind === 'link') symlinkSync(elsewhere, pathOf(digest));
    if (kind === 'dangling link') symlinkSync('/nowhere', pathOf(digest));
    if (kind === 'pipe') execFileSync('mkfifo', [pathOf(digest)]);
    if (kind === 'directory') await mkdir(pathOf(digest));
    expect(await failure(collect(blobs.read(digest)))).toMatchObject({ code: 'BLOB_CORRUPTED' });
    rmSync(pathOf(digest), { recursive: true });
    writeFileSync(pathOf(digest), bytes);
    expect((await collect(blobs.read(digest))).equals(bytes)).toBe(true);
  });
});

describe('faults', () => {
  const writer = `
    import { createBlobStore } from ${JSON.stringify(join(import.meta.dirname, 'blob-store.ts'))};
    async function* source() { yield Buffer.alloc(50_000); process.stdout.write('writing'); await new Promise(() => setInterval(() => {}, 1000)); }
    await createBlobStore(process.argv[1]).put(source(), 1e6);`;
  const startWriter = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer, dir], {
      env: {},
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  };

  it('leaves nothing readable when a writer is killed, and removes its leftover but not a living writer’s', async () => {
    const killed = await startWriter();
    const living = await startWriter();
    try {
      killed.kill('SIGKILL');
      await once(killed, 'exit');
      expect(everyFile()).toHaveLength(2);
      await createBlobStore(dir).put(chunks(Buffer.from('next')), limit);
      expect(everyFile().filter((name) => name.startsWith('staging/'))).toEqual([
        expect.stringContaining(`.${living.pid}.`),
      ]);
    } finally {
      living.kill('SIGKILL');
      await once(living, 'exit');
    }
  });

  it('removes what an earlier boot and a process of a reused number left, and nothing that is not its own', async () => {
    const [bootId = '', namespace = '', pid = '', startTicks = ''] = stagedName().split('.');
    const name = (boot: string, ticks: string): string => [boot, namespace, pid, ticks, '0'.repeat(16)].join('.');
    await mkdir(join(dir, 'staging'), { recursive: true });
    const stale = [name('00000000-0000-0000-0000-000000000000', startTicks), name(bootId, `${startTicks}0`)];
    const kept = [name(bootId, startTicks), 'notes.txt'].sort();
    for (const file of [...stale, ...kept]) writeFileSync(join(dir, 'staging', file), 'x');
    await createBlobStore(dir).put(chunks(Buffer.from('next')), limit);
    expect(readdirSync(join(dir, 'staging')).sort()).toEqual(kept);
  });

  it('reports a directory that cannot be used by its name', async () => {
    writeFileSync(dir, 'a file');
    expect(await failure(createBlobStore(dir).put(chunks(Buffer.from('x')), limit))).toMatchObject({
      code: 'DATA_DIR_UNUSABLE',
      message: expect.stringContaining(dir),
    });
    rmSync(dir);
    expect(await createBlobStore(dir).put(chunks(Buffer.from('x')), limit)).toMatchObject({ sizeBytes: 1 });
  });
});

describe.skipIf(process.getuid?.() !== 0)('a full disk', () => {
  it('ends in DISK_FULL with nothing kept, and has room again afterwards', async () => {
    const small = join(home, 'small');
    await mkdir(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
    try {
      chmodSync(small, 0o700);
      dir = join(small, 'blobs');
      const blobs = createBlobStore(dir);
      const first = randomBytes(300_000);
      const { digest } = await blobs.put(chunks(first), limit);
      const parts = Array.from({ length: 20 }, () => randomBytes(100_000));
      expect(await failure(blobs.put(chunks(...parts), limit))).toMatchObject({ code: 'DISK_FULL' });
      expect(everyFile()).toEqual([pathOf(digest).slice(dir.length + 1)]);
      expect((await collect(blobs.read(digest))).equals(first)).toBe(true);
      expect((await blobs.put(chunks(randomBytes(300_000)), limit)).sizeBytes).toBe(300_000);
    } finally {
      execFileSync('umount', [small]);
    }
  });
});
