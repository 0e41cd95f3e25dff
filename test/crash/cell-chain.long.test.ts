import { afterAll, describe, expect, it } from 'vitest';
import { openCellBench } from '../support/cell-bench.ts';
import { killPoints } from '../support/kill-points.ts';
import { type Killed, killLink, links } from './cell-chain.ts';

const bench = openCellBench();
const clean = bench.residue();
afterAll(() => bench.remove());

const rounds = 30;

describe.each(['crun', 'runc'] as const)('kill -9 of a process of a cell’s chain under %s', (runtime) => {
  const driver = bench.open({ runtime });
  const all: Killed[] = [];

  it.each(links)('the %s one, at any moment: the cell ends in a typed state, and nothing is left', async (link) => {
    const started = performance.now();
    const cell = await bench.boot({}, driver);
    cell.run('say(1)');
    await cell.heard();
    const spanMs = performance.now() - started;
    await bench.settle();
    for (const [round, delayMs] of killPoints(rounds, 1.2 * spanMs, 20_260_201).entries()) {
      const since = round % 3 === 0 ? 'answer' : 'launch';
      const killed = await killLink(driver, bench.plan(), link, { since, delayMs });
      all.push(killed);
      const about = `round ${round}: ${killed.name} of ${link}, ${delayMs} ms after its ${since}, ${killed.end}`;
      expect({ about, end: killed.end }).toEqual({ about, end: expect.stringMatching(typedEnd) });
      // Only a program that does one thing and ends can be missed. The first two last as long as the cell.
      expect({ about, missed: link !== 'last' && killed.end === 'missed' }).toEqual({ about, missed: false });
      // The driver lives: it needs no sweep.
      expect({ about, left: bench.residue() }).toEqual({ about, left: clean });
    }
  });

  it('of each program that it goes through', () => {
    const names = new Set(all.map(({ name }) => name));
    for (const name of ['unshare', 'sh', runtime]) expect([...names]).toContain(name);
    expect([...names].some((name) => name.startsWith('node'))).toBe(true);
    expect(all.filter(({ end }) => end === 'missed').length).toBeLessThan(all.length / 10);
    const ends = new Set(all.map(({ end }) => end));
    expect([...ends]).toContain('self');
    expect(ends.size).toBeGreaterThanOrEqual(2);
  });
});

/**
 * A launch that did not come up, a runtime that failed, named by what it said itself, a cell that was killed, or a kill that
 * came too late. Never a cell that is lost.
 */
const typedEnd =
  /^(HOST_UNSUPPORTED|RUNTIME_BROKEN|CGROUP_UNAVAILABLE|self|missed|boot-failed (RUNTIME_BROKEN|IMAGE_CORRUPTED|HOST_UNSUPPORTED|USERNS_UNAVAILABLE|CGROUP_UNAVAILABLE))$/;
