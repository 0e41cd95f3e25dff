import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { expectRecovery, gone, killAfter, killPoints } from '../support/kill-points.ts';
import { inWay, manyWays } from '../support/many-ways.ts';
import { type CliHome, makeCliHome, useCli } from '../support/use-cli.ts';
import { killRuns, spanOf } from './kill-runs.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
beforeAll(async () => {
  await cli().node('many-ways', manyWays);
  expect((await cli().run(inWay('echo', 1))).code).toBe(0);
});

const withHome = async (images: 'linked' | 'none', action: (home: CliHome) => Promise<void>): Promise<void> => {
  const home = await makeCliHome(images);
  try {
    await action(home);
  } finally {
    home.remove();
  }
};

describe('kill -9 during node run', () => {
  // Two data directories, so that two can be killed at once.
  it.concurrent.each([20_260_101, 20_260_102])(
    'at any point leaves records whole, no cell, nothing half-written, and a CLI that works (seed %i)',
    async (seed) => {
      await withHome('linked', async (home) => {
        const outcomes = await killRuns(home, { count: 6, seed });
        // Not vacuous. How many end before their moment comes is a matter of the machine.
        expect(outcomes.killed).toBeGreaterThanOrEqual(2);
      });
    },
  );

  it('of a run under way: the node is dead at once, the attempt LOST, its logs kept', async () => {
    const running = cli().start([...inWay('wait', 60_000), '--json=lines']);
    const [, id = ''] = await running.seen('stdout', /"event":"run","run":"(run_\w+)"/);
    await running.seen('stdout', /"message":"waiting"/);
    const worker = running.workerPid() as number;
    // What was told is on its way to the database for a tenth of a second.
    await new Promise((resolve) => setTimeout(resolve, 500));
    process.kill(worker, 'SIGKILL');
    expect((await running.done).signal).toBe('SIGKILL');
    await gone(worker);
    await expectRecovery(cli(), 'doctor', 'a run under way');
    const shown = (await cli().run(['run', 'show', id, '--json', '--record'])).json();
    expect(shown).toMatchObject({
      state: 'LOST',
      error: { code: 'CELL_LOST' },
      output: null,
      receiptDigest: null,
      logs: [{ message: 'waiting' }],
      record: { journal: [{ to: 'QUEUED' }, { to: 'RUNNING' }, { from: 'RUNNING', to: 'LOST' }] },
    });
    const text = await cli().run(['run', 'show', id]);
    expect({ code: text.code, lost: text.stdout.includes('LOST') }).toEqual({ code: 0, lost: true });
    expect((await cli().run(inWay('echo', 2))).code).toBe(0);
  });

  it('of a follower of the run: the run goes on', async () => {
    const running = cli().start([...inWay('wait', 3000), '--json=lines']);
    const [, id = ''] = await running.seen('stdout', /"event":"run","run":"(run_\w+)"/);
    const follower = cli().start(['run', 'logs', id, '--follow']);
    await follower.seen('stdout', /waiting/);
    process.kill(follower.workerPid() as number, 'SIGKILL');
    await follower.done;
    expect((await running.done).code).toBe(0);
  });
});

describe.concurrent('kill -9 during anything else', () => {
  it('init: the next one completes it or finds it complete', async () => {
    await withHome('none', async (home) => {
      const span = await spanOf(() => home.run(['init', '--data-dir', join(home.dir, 'measured')]));
      for (const [i, ms] of killPoints(6, span, 7).entries()) {
        const dataDir = join(home.dir, `data-${i}`);
        await killAfter(home.start(['init', '--data-dir', dataDir]), ms);
        const again = await home.run(['init', '--json', '--data-dir', dataDir]);
        const isComplete = again.json().error?.code === 'ALREADY_EXISTS';
        expect({ ms, ok: again.code === 0 || isComplete }).toEqual({ ms, ok: true });
        expect(readdirSync(dataDir).sort()).toEqual(['glovebox.yaml', 'instance.json', 'keys']);
        expect(readdirSync(join(dataDir, 'keys')).sort()).toEqual(['signing.pem', 'signing.pub.pem']);
        expect((await home.run(['run', 'list', '--data-dir', dataDir])).code).toBe(0);
      }
    });
  });

  it('image build: the next one completes it, and what was current stays so', async () => {
    await withHome('none', async (home) => {
      const span = await spanOf(() => home.run(['image', 'build', '--data-dir', join(home.dir, 'measured')]));
      for (const ms of killPoints(4, span, 11)) await killAfter(home.start(['image', 'build']), ms);
      expect((await home.run(['image', 'build'])).code).toBe(0);
      expect(home.leftovers()).toEqual([]);
      expect((await home.run(['image', 'show', '--verify'])).code).toBe(0);
      await killAfter(home.start(['image', 'build', '--force']), span / 2);
      expect((await home.run(['image', 'show', '--verify'])).code).toBe(0);
      expect((await home.run(['image', 'build'])).code).toBe(0);
      expect(home.leftovers()).toEqual([]);
    });
  });

  it('node new: a whole package or none, and the next one makes it', async () => {
    await withHome('none', async (home) => {
      const span = await spanOf(() => home.run(['node', 'new', 'measured']));
      for (const [i, ms] of killPoints(8, span, 13).entries()) {
        const name = `node-${i}`;
        // Every other one into a directory that is there.
        if (i % 2 === 0) mkdirSync(join(home.dir, name));
        await killAfter(home.start(['node', 'new', name]), ms);
        const isMade = existsSync(join(home.dir, name, 'node.json'));
        const again = await home.run(['node', 'new', name, '--json']);
        expect({ i, ms, code: again.code, error: again.json().error?.code }).toEqual({
          i,
          ms,
          code: isMade ? 2 : 0,
          error: isMade ? 'ALREADY_EXISTS' : undefined,
        });
        const listed = readdirSync(join(home.dir, name), { recursive: true, encoding: 'utf8' });
        expect(listed.filter((path) => path.includes('.node-new.'))).toEqual([]);
        expect(listed.sort()).toEqual(
          readdirSync(join(home.dir, 'measured'), { recursive: true, encoding: 'utf8' }).sort(),
        );
      }
      expect(readdirSync(home.dir).filter((name) => name.startsWith('.node-'))).toEqual([]);
    });
  });

  it('doctor: no probe cell lives on, and the next one looks again', async () => {
    await withHome('linked', async (home) => {
      const span = await spanOf(() => home.run(['doctor']));
      for (const ms of killPoints(4, span, 19)) {
        await killAfter(home.start(['doctor']), ms);
        await expectRecovery(home, 'doctor', `doctor after ${ms} ms`);
      }
    });
  });

  it('the first command ever: the next one has an instance and a database', async () => {
    await withHome('none', async (home) => {
      const span = await spanOf(() => home.run(['run', 'list', '--data-dir', join(home.dir, 'measured')]));
      for (const [i, ms] of killPoints(6, span, 17).entries()) {
        const dataDir = join(home.dir, `data-${i}`);
        await killAfter(home.start(['run', 'list', '--data-dir', dataDir]), ms);
        const { code, json } = await home.run(['run', 'list', '--json', '--data-dir', dataDir]);
        expect({ ms, code, runs: json().runs }).toEqual({ ms, code: 0, runs: [] });
        expect(readdirSync(dataDir).filter((name) => name.startsWith('.'))).toEqual([]);
      }
    });
  });
});
