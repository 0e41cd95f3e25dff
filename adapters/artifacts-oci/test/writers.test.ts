import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeArtifact, makeSigner } from '../../../test/support/artifact.ts';
import { killAtNthWrite } from '../../../test/support/kill-at-nth-write.ts';
import { openSmallDisk } from '../../../test/support/small-disk.ts';
import { createArtifactStore } from '../src/index.ts';
import { runWriter } from './support/child.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-artifacts-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const { signer } = makeSigner();
const leftovers = (dir: string): string[] => ['.staging', '.claims'].flatMap((name) => readdirSync(join(dir, name)));

it('keeps everything that several processes put at once, the same artifact among it', async () => {
  const dir = join(home, 'artifacts');
  const versions = (from: number): string[] => [...Array.from({ length: 4 }, (_, i) => `1.0.${from + i}`), '2.0.0'];
  const ends = await Promise.all([0, 4, 8].map((from) => runWriter(dir, versions(from))));
  for (const { code, stderr, lines } of ends)
    expect({ code, stderr, lines: lines.length }).toEqual({ code: 0, stderr: '', lines: 5 });
  const digests = new Set(ends.flatMap(({ lines }) => lines));
  expect(digests.size).toBe(13);
  const store = createArtifactStore(dir);
  for (const digest of digests) {
    const { config } = await store.load(digest);
    expect((await store.attestations(digest)).length).toBe(config.version === '2.0.0' ? 12 : 4);
  }
  const { manifests } = JSON.parse(readFileSync(join(dir, 'index.json'), 'utf8'));
  expect(manifests).toHaveLength(2 * 13);
  expect(leftovers(dir)).toEqual([]);
});

it('has an artifact with all of its attestations or not at all, wherever its writer is killed, and takes it afterwards', async () => {
  const first = await makeArtifact(signer, { version: '0.0.1' });
  const artifact = await makeArtifact(signer, { version: '1.0.0' });
  // One that lives leaves its compiled code to those that die.
  await runWriter(join(home, 'unharmed'), ['1.0.0']);
  const outcomes = { there: 0, absent: 0 };
  for (let next = 1, alive = false; !alive; next += 18) {
    const rounds = [0, 6, 12].map(async (step) => {
      const n = next + step;
      const dir = join(home, `killed-${n}`);
      // In every other one there is something already.
      if (n % 4 === 1) await createArtifactStore(dir).put(first);
      return { n, dir, ...(await runWriter(dir, ['1.0.0'], killAtNthWrite(n))) };
    });
    for (const { n, dir, signal, lines } of await Promise.all(rounds)) {
      alive ||= signal !== 'SIGKILL';
      const store = createArtifactStore(dir);
      const found = await store.load(artifact.digest).then(
        () => 'there' as const,
        (error: { code: string }) => (error.code === 'NOT_FOUND' ? ('absent' as const) : error.code),
      );
      expect({ n, found: ['there', 'absent'].includes(found) }).toEqual({ n, found: true });
      if (signal === 'SIGKILL') outcomes[found as 'there' | 'absent']++;
      if (lines.length > 0) expect({ n, found }).toEqual({ n, found: 'there' });
      if (found === 'there')
        expect({ n, count: (await store.attestations(artifact.digest)).length }).toEqual({ n, count: 4 });
      await store.put(artifact);
      expect({ n, config: (await store.load(artifact.digest)).config.version }).toEqual({ n, config: '1.0.0' });
      expect(await store.attestations(artifact.digest)).toEqual(expect.arrayContaining([...artifact.attestations]));
      if (n % 4 === 1) expect(await store.attestations(first.digest)).toEqual(first.attestations);
      expect({ n, left: leftovers(dir) }).toEqual({ n, left: [] });
    }
  }
  expect(outcomes.absent).toBeGreaterThan(5);
});

it.skipIf(process.getuid?.() !== 0)(
  'has nothing of an artifact that does not fit on the disk, and takes it once there is room',
  async () => {
    const disk = await openSmallDisk(home, '4m');
    try {
      const dir = join(disk.path, 'artifacts');
      const store = createArtifactStore(dir);
      const small = await makeArtifact(signer, { version: '1.0.0' });
      await store.put(small);
      const large = await makeArtifact(signer, { version: '2.0.0', sourceMap: Buffer.alloc(6 * 1024 * 1024, ' ') });
      await expect(store.put(large)).rejects.toMatchObject({ code: 'DISK_FULL' });
      await expect(store.load(large.digest)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const other = await makeArtifact(signer, { version: '3.0.0' });
      let full = 0;
      for (let leave = 0; leave < 128 * 1024; leave += 4096) {
        disk.fill(leave);
        const failed = await store.put(other).then(
          () => undefined,
          (error: { code: string }) => error.code,
        );
        if (failed === undefined) break;
        full++;
        expect({ leave, failed }).toEqual({ leave, failed: 'DISK_FULL' });
        expect((await store.attestations(small.digest)).length).toBe(4);
        await expect(store.load(other.digest)).rejects.toMatchObject({ code: 'NOT_FOUND' });
        expect(leftovers(dir)).toEqual([]);
      }
      expect(full).toBeGreaterThan(3);
      disk.free();
      await store.put(other);
      expect(await store.attestations(other.digest)).toEqual(other.attestations);
    } finally {
      await disk.remove();
    }
  },
);
