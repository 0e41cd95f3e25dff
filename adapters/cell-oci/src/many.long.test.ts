import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { openCellBench } from '../../../test/support/cell-bench.ts';
import { readHierarchies } from './cgroup-hierarchies.ts';

const bench = openCellBench();
afterAll(() => bench.remove());

const count = 1000;
/** None dies before so many are alive and have answered, so that many stand beside one another. */
const together = 100;

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

/** Effective uids of the processes of each of our cells, as the host sees them, root's apart: the runtime's. */
function uidsOfCells(): Map<string, Set<number>> {
  const folder = join(readHierarchies().of('pids')?.mountPoint ?? '', 'glovebox');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.includes(bench.instance)) : [];
  return new Map(names.map((name) => [name, new Set(pidsIn(join(folder, name)).flatMap(uidsOf))]));
}

function pidsIn(folder: string): string[] {
  try {
    return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

function uidsOf(pid: string): number[] {
  try {
    const uid = Number(/^Uid:\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    return uid === 0 ? [] : [uid];
  } catch {
    return [];
  }
}

describe(`${count} boots that are asked for at once`, () => {
  it('all come up, each under a uid of its own, answer and die, and leave nothing behind', async () => {
    const clean = bench.residue();
    const none = { cells: 0, processes: 0, cgroups: 0, mounts: 0, namespaces: 0, directories: 0, uidClaims: 0 };
    // Processes of uids that nobody has claimed any more count as ours: what another test killed may be dying still.
    await expect.poll(() => bench.driver.gauges(), { timeout: 10_000 }).toEqual(none);
    const before = { descriptors: openDescriptors(), rss: process.memoryUsage.rss() };
    let alive = 0;
    let over = 0;
    const crowd = Promise.withResolvers<void>();
    const runs = Array.from({ length: count }, async (_, i) => {
      const cell = await bench.boot({ lifetimeMs: 25 * 60_000 });
      cell.run(`say(${i})`);
      const heard = await cell.heard();
      if (++alive === together) crowd.resolve();
      await crowd.promise;
      cell.kill('done');
      const { cause, error } = await cell.ended;
      over++;
      return { heard, cause, error };
    });
    let most = 0;
    const shared: string[] = [];
    const watch = (async () => {
      for (; over < count; await sleep(200)) {
        const owners = new Map<number, string>();
        const cells = uidsOfCells();
        most = Math.max(most, [...cells.values()].filter(({ size }) => size > 0).length);
        for (const [name, uids] of cells) {
          for (const uid of uids) {
            const other = owners.get(uid);
            if (other !== undefined) shared.push(`${uid}: ${other} and ${name}`);
            owners.set(uid, name);
          }
        }
      }
    })();
    const ended = await Promise.all(runs);
    await watch;
    expect(ended).toEqual(Array.from({ length: count }, (_, i) => ({ heard: i, cause: 'done', error: undefined })));
    expect(shared).toEqual([]);
    // The look was no blind one.
    expect(most).toBeGreaterThanOrEqual(together);
    expect(await bench.driver.gauges()).toEqual(none);
    expect(bench.residue()).toEqual(clean);
    expect(openDescriptors() - before.descriptors).toBeLessThanOrEqual(2);
    expect((process.memoryUsage.rss() - before.rss) / 2 ** 20).toBeLessThan(150);
  });
});
