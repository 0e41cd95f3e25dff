import { expect } from 'vitest';
import { expectRecovery, killAfter, killPoints, listRuns } from '../support/kill-points.ts';
import type { CliHome } from '../support/use-cli.ts';

/** What came of runs that were killed, in numbers. */
export interface KilledRuns {
  killed: number;
  lost: number;
  succeeded: number;
  /** Killed before there was a record of it. */
  unrecorded: number;
}

/** How long something takes now, in milliseconds. */
export async function spanOf(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return performance.now() - started;
}

/**
 * Kill one `node run` after another, each at another moment of its life, and look after each kill that everything is well.
 * Every other one has its bundle made anew, so that builder cells are killed too; all write a file and log lines.
 */
export async function killRuns(home: CliHome, { count, seed }: { count: number; seed: number }): Promise<KilledRuns> {
  const source = (salt: string) => ({
    id: 'killed',
    body: `ctx.log.info('one'); await ctx.files.write('f.bin', new Uint8Array(300_000), 'application/octet-stream');
  for (let i = 0; i < 20; i++) { ctx.log.info('line ' + i); await ctx.clock.sleep(10); }
  return ${JSON.stringify(salt)};`,
    manifest: { capabilities: { files: { maxBytes: '1MiB', maxCount: 1 } } },
  });
  const args = ['node', 'run', 'killed', '--trial', '--json'];
  await home.node('killed', source('first'));
  // The first run finds every cache cold.
  const first = await spanOf(async () => expect((await home.run(args)).code).toBe(0));
  // Of runs that are over before they are killed, the quickest tells how long one takes now.
  const spans = { cold: 0.8 * first, warm: await spanOf(() => home.run(args)) };
  const known = new Set((await listRuns(home)).map(({ id }) => id));
  const outcomes: KilledRuns = { killed: 0, lost: 0, succeeded: 0, unrecorded: 0 };
  for (const [i, fraction] of killPoints(count, 1_000_000, seed).entries()) {
    const kind = i % 2 === 0 ? 'cold' : 'warm';
    if (kind === 'cold') await home.node('killed', source(`salt ${i}`));
    const ms = (fraction / 1_000_000) * spans[kind];
    let wasKilled = false;
    const span = await spanOf(async () => {
      wasKilled = await killAfter(home.start(args), ms);
    });
    if (!wasKilled) spans[kind] = Math.min(spans[kind], span);
    const about = `kill ${i} of seed ${seed} after ${Math.round(ms)} ms of a ${kind} run`;
    const all = await expectRecovery(home, i % 4 === 0 ? 'doctor' : 'run list', about);
    if (wasKilled) outcomes.killed++;
    const fresh = all.filter(({ id }) => !known.has(id));
    expect({ about, fresh: fresh.length <= 1 }).toEqual({ about, fresh: true });
    for (const { id, state } of fresh) {
      known.add(id);
      expect({ about, state }).toEqual({ about, state: expect.stringMatching(/^(LOST|SUCCEEDED)$/) });
      if (state === 'LOST') outcomes.lost++;
      else {
        outcomes.succeeded++;
        // What is complete is complete: the receipt, and the bytes of the file.
        expect({ about, code: (await home.run(['verify', id])).code }).toEqual({ about, code: 0 });
        expect((await home.run(['run', 'file', id, 'f.bin', '--out', `out-${seed}-${i}`])).code).toBe(0);
      }
    }
    if (wasKilled && fresh.length === 0) outcomes.unrecorded++;
  }
  expect((await home.run(args)).code).toBe(0);
  return outcomes;
}
