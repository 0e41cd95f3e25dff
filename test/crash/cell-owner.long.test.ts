import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually, openCellBench } from '../support/cell-bench.ts';
import { seeded } from '../support/kill-points.ts';

const bench = openCellBench();
const clean = bench.residue();
const owners: ChildProcess[] = [];
afterEach(async () => {
  for (const owner of owners.splice(0)) await killed(owner);
});
afterAll(() => bench.remove());

const rounds = 15;
const program = fileURLToPath(new URL('./cell-owner-program.ts', import.meta.url));

async function killed(owner: ChildProcess): Promise<void> {
  owner.kill('SIGKILL');
  if (owner.exitCode === null && owner.signalCode === null) await once(owner, 'exit');
}

/** Resolves when it has let go of a first cell. */
async function startOwner(runtime: string): Promise<ChildProcess> {
  const { instance, runDirectory, rootfs } = bench;
  const given = { instance, runDirectory, rootfs, plan: bench.plan(), runtime, atOnce: 3 };
  const owner = spawn(process.execPath, [program, JSON.stringify(given)], {
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owners.push(owner);
  const ended = once(owner, 'exit').then(([code]) => Promise.reject(new Error(`the owner ended by itself: ${code}`)));
  const [first] = (await Promise.race([once(owner.stdout as NodeJS.ReadableStream, 'data'), ended])) as [Buffer];
  // Later it is killed, which is no failure.
  ended.catch(() => undefined);
  expect(first.toString()).toMatch(/^done\n/);
  owner.stdout?.resume();
  return owner;
}

describe.each(['crun', 'runc'] as const)(
  'kill -9 of an owner of cells under %s, at any moment of theirs',
  (runtime) => {
    it('takes them with it, and one sweep leaves nothing', async () => {
      const random = seeded(20_260_202);
      const seen = { cells: 0, swept: 0 };
      for (let round = 0; round < rounds; round++) {
        const owner = await startOwner(runtime);
        await new Promise((resolve) => setTimeout(resolve, 300 * random()));
        await killed(owner);
        // The kernel kills them: nobody sweeps yet.
        const dead = await eventually(() => bench.residue().processes.length === 0);
        expect({ round, dead }).toEqual({ round, dead: true });
        expect({ round, namespaces: bench.residue().namespaces }).toEqual({ round, namespaces: [] });
        const left = await bench.driver.gauges();
        const report = await bench.driver.sweep();
        seen.cells += left.cells;
        seen.swept += report.removed.cells;
        expect({ round, left: bench.residue() }).toEqual({ round, left: clean });
      }
      // Three were alive or on their way nearly each time.
      expect(seen.cells).toBeGreaterThanOrEqual(2 * rounds);
      expect(seen.swept).toBeGreaterThanOrEqual(2 * rounds);
    });
  },
);
