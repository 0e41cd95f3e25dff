import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, expect, it } from 'vitest';
import type { SweepReport } from './driver.ts';
import { type Sweeper, type SweeperOptions, startSweeper } from './sweeper.ts';

const report: SweepReport = {
  removed: { cells: 1, cgroups: 0, directories: 0, uidClaims: 0, processes: 0 },
  unknown: 0,
};
let sweeper: Sweeper | undefined;
afterEach(() => sweeper?.stop());

/** A driver whose sweeps take `takesMs`, and what came of them. */
function start(takesMs: number, outcome: () => SweepReport, everyMs = 5) {
  const seen = { begun: 0, running: 0, most: 0, reports: 0, failures: [] as string[] };
  const sweep = async (): Promise<SweepReport> => {
    seen.begun++;
    seen.most = Math.max(seen.most, ++seen.running);
    await sleep(takesMs);
    seen.running--;
    return outcome();
  };
  const options: SweeperOptions = {
    everyMs,
    onReport: () => void seen.reports++,
    onFailure: ({ code }) => void seen.failures.push(code),
  };
  sweeper = startSweeper({ sweep }, options);
  return { seen, sweeper };
}

it('sweeps again and again, and never two at once, however long one takes', async () => {
  const { seen, sweeper: own } = start(20, () => report);
  expect(seen.begun).toBe(0);
  await sleep(15);
  const shared = [own.sweep(), own.sweep()];
  expect(await Promise.all(shared)).toEqual([report, report]);
  await sleep(150);
  expect(seen.most).toBe(1);
  expect(seen.reports).toBeGreaterThanOrEqual(3);
  expect(seen.failures).toEqual([]);
});

it('tells of a sweep that fails, and goes on', async () => {
  let count = 0;
  const { seen } = start(0, () => {
    if (count++ === 0) throw new GloveboxError('CGROUP_UNAVAILABLE');
    if (count === 2) throw new TypeError('not of ours');
    return report;
  });
  await sleep(150);
  expect(seen.failures).toEqual(['CGROUP_UNAVAILABLE', 'INTERNAL']);
  expect(seen.reports).toBeGreaterThanOrEqual(1);
});

it('ends when it is told to: the sweep under way is over then, and none begins', async () => {
  const { seen, sweeper: own } = start(40, () => report);
  await sleep(20);
  expect(seen.running).toBe(1);
  await own.stop();
  expect(seen.running).toBe(0);
  await sleep(60);
  expect(seen.begun).toBe(1);
  await expect(own.sweep()).rejects.toMatchObject({ code: 'INTERNAL' });
});

it('keeps no process alive', () => {
  const program = `
    import { startSweeper } from ${JSON.stringify(new URL('./sweeper.ts', import.meta.url).pathname)};
    startSweeper({ sweep: () => new Promise(() => {}) }, { everyMs: 60_000, onFailure: () => {} });
    console.log('begun');
  `;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
    timeout: 20_000,
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'begun\n' });
});
