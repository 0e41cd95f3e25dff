import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../src/index.ts';
import { checkDatabase } from './support/check-database.ts';
import { makeDirectory, makeEnd, makeLog, makeRun } from './support/records.ts';

const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot).each([true, false])(
  'a full disk, with the store in the thread of its caller: %s',
  (inThread) => {
    let home: ReturnType<typeof makeDirectory>;
    let path: string;

    beforeEach(() => {
      home = makeDirectory();
      path = join(home.dir, 'glovebox.db');
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,nr_inodes=20', 'tmpfs', home.dir]);
    });
    afterEach(() => {
      execFileSync('umount', [home.dir]);
      home.remove();
    });

    const ballast = (bytes: number): void => {
      const file = join(home.dir, 'ballast');
      rmSync(file, { force: true });
      try {
        writeFileSync(file, Buffer.alloc(bytes));
      } catch (error) {
        // As much as there was room for.
        expect(error).toMatchObject({ code: 'ENOSPC' });
      }
    };

    it('is told as such by the call that met it, which keeps nothing; reading goes on, and writing once there is room', async () => {
      const store = await openStore(path, { inThread });
      const kept = makeRun();
      await store.runs.create(kept.run, kept.attempt);
      await store.runs.begin(kept.attempt.id, 1);
      ballast(2 * 1024 * 1024);

      const big = makeRun({ inputText: JSON.stringify('x'.repeat(300_000)) });
      await expect(store.runs.create(big.run, big.attempt)).rejects.toMatchObject({ code: 'DISK_FULL' });
      const flood = Array.from({ length: 50 }, () => makeLog('y'.repeat(60_000)));
      await expect(store.runs.appendLogs(kept.attempt.id, flood)).rejects.toMatchObject({ code: 'DISK_FULL' });
      const end = makeEnd({ outputText: JSON.stringify('z'.repeat(200_000)) });
      await expect(store.runs.finish(kept.attempt.id, end)).rejects.toMatchObject({ code: 'DISK_FULL' });

      expect(await store.runs.get('default', big.run.id)).toBeUndefined();
      expect((await store.runs.get('default', kept.run.id))?.attempts[0]?.state).toBe('RUNNING');
      expect(await store.runs.logs(kept.attempt.id)).toEqual([]);

      rmSync(join(home.dir, 'ballast'));
      await store.runs.create(big.run, big.attempt);
      expect(await store.runs.finish(kept.attempt.id, end)).toBe('finished');
      await store.close();
      expect(checkDatabase(path)).toEqual([]);
    });

    it('is told as such at the opening, of a new database and of one that is there', async () => {
      ballast(2 * 1024 * 1024);
      await expect(openStore(path, { inThread })).rejects.toMatchObject({ code: 'DISK_FULL' });
      rmSync(join(home.dir, 'ballast'));
      await (await openStore(path, { inThread })).close();
      ballast(2 * 1024 * 1024);
      await expect(openStore(path, { inThread })).rejects.toMatchObject({ code: 'DISK_FULL' });
      rmSync(join(home.dir, 'ballast'));
      const store = await openStore(path, { inThread });
      expect(await store.runs.list({ project: 'default', limit: 1 })).toEqual([]);
      await store.close();
    });

    it('is told as such when there is no room for another file', async () => {
      for (let i = 0; i < 30; i++) {
        try {
          writeFileSync(join(home.dir, `file-${i}`), '');
        } catch {
          break;
        }
      }
      await expect(openStore(path, { inThread })).rejects.toMatchObject({ code: 'DISK_FULL' });
      rmSync(join(home.dir, 'file-0'));
      // The file of the database itself now fits, its side files do not.
      await expect(openStore(path, { inThread })).rejects.toMatchObject({ code: 'DISK_FULL' });
      for (let i = 1; i < 6; i++) rmSync(join(home.dir, `file-${i}`));
      await (await openStore(path, { inThread })).close();
    });
  },
);
