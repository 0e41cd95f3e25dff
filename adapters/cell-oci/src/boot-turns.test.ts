import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Digest, newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openCellBench } from '../../../test/support/cell-bench.ts';
import { createBootTurns } from './boot-turns.ts';
import { findProgram } from './host-program.ts';

const bench = openCellBench();
const clean = bench.residue();
afterEach(async () => {
  await bench.settle();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => bench.remove());

/** Cells whose directory is there and whose container is not. */
function underWay(): number {
  const cells = join(bench.runDirectory, 'cells');
  const names = existsSync(cells) ? readdirSync(cells) : [];
  return names.filter((name) => !existsSync(join(cells, name, 'pid'))).length;
}

describe('turns', () => {
  it('are taken by as many as there are, then one by one in the order of coming', async () => {
    const turns = createBootTurns(2);
    const begun: number[] = [];
    const ends = new Map<number, () => void>();
    for (const i of [0, 1, 2, 3, 4]) {
      void turns.begin().then((end) => {
        begun.push(i);
        ends.set(i, end);
      });
    }
    await sleep(1);
    expect(begun).toEqual([0, 1]);
    ends.get(1)?.();
    await sleep(1);
    expect(begun).toEqual([0, 1, 2]);
    for (const i of [0, 2]) ends.get(i)?.();
    await sleep(1);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    for (const i of [3, 4]) ends.get(i)?.();
    await turns.begin();
    await turns.begin();
  });
});

describe('boots that are asked for at once', () => {
  it('all come up, a few at a time', async () => {
    const limit = 3;
    const driver = bench.open({ bootsAtOnce: limit });
    let most = 0;
    let looking = true;
    const looks = (async () => {
      for (; looking; await sleep(2)) most = Math.max(most, underWay());
    })();
    const said = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const cell = await bench.boot({}, driver);
        cell.run(`say(${i})`);
        return cell.heard();
      }),
    );
    looking = false;
    await looks;
    expect(said).toEqual(Array.from({ length: 16 }, (_, i) => i));
    // A directory is there for a moment after its cell has died, and none died here.
    expect({ most, within: most <= limit && most >= 2 }).toEqual({ most, within: true });
  });

  it('are not kept from coming up by boots that fail, nor by one that hangs', async () => {
    const runtime = join(bench.home, 'hangs-once');
    const crun = findProgram('crun') ?? '';
    writeFileSync(
      runtime,
      `#!/bin/sh\n[ "$1" = --version ] || { mkdir ${runtime}.hung && exec sleep 1000; } 2>/dev/null\nexec ${crun} "$@"\n`,
    );
    chmodSync(runtime, 0o755);
    const absent = `sha256:${'1'.repeat(64)}` as Digest;
    const driver = bench.open({
      runtime,
      bootsAtOnce: 1,
      bootDeadlineMs: 1500,
      rootfsOf: (digest) => (digest === absent ? '/nonexistent' : bench.rootfs),
    });
    const missing = { ...bench.plan(), image: absent };
    for (const outcome of await Promise.allSettled([1, 2, 3].map(() => driver.boot(missing, newCellId()))))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'IMAGE_MISSING' } });
    const [hung, other] = await Promise.all([bench.boot({}, driver), bench.boot({}, driver)]);
    expect((await hung.ended).cause).toBe('boot-failed');
    other.run('say(1)');
    expect(await other.heard()).toBe(1);
  });
});
