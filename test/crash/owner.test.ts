import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunningCli } from '../support/cli.ts';
import { gone } from '../support/kill-points.ts';
import { inWay, manyWays } from '../support/many-ways.ts';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
beforeAll(async () => {
  await cli().node('many-ways', manyWays);
  expect((await cli().run(inWay('echo', 1))).code).toBe(0);
});

const inData = (...names: string[]): string => join(cli().dataDir, ...names);
const owner = (): string[] => (existsSync(inData('run', 'owner')) ? readdirSync(inData('run', 'owner')) : []);

/** A command that runs a node until it is told to end. */
async function startRun(): Promise<{ running: RunningCli; id: string; pid: number }> {
  const running = cli().start([...inWay('wait', 170_000), '--json=lines']);
  const [, id = ''] = await running.seen('stdout', /"event":"run","run":"(run_\w+)"/);
  await running.seen('stdout', /"message":"waiting"/);
  return { running, id, pid: running.workerPid() as number };
}

const stateOf = async (id: string) => {
  const { runs } = (await cli().run(['run', 'list', '--json'])).json() as { runs: { id: string; state: string }[] };
  return runs.find((run) => run.id === id)?.state;
};

/** Half a file of a process that is dead. */
function abandon(): string {
  const staged = inData('blobs', 'staging', '00000000-0000-4000-8000-000000000000.1.4194303.1.0123456789abcdef');
  mkdirSync(inData('blobs', 'staging'), { recursive: true });
  writeFileSync(staged, 'half');
  return staged;
}

describe('the owner of a data directory', () => {
  it('is a command while it works, and nobody afterwards', async () => {
    const { running, pid } = await startRun();
    expect(owner()).toEqual([expect.stringContaining(`.${pid}.`)]);
    running.child.kill('SIGINT');
    expect((await running.done).code).toBe(130);
    expect(owner()).toEqual([]);
  });

  it('alone recovers and sweeps: others work beside it, and touch nothing of what the dead left', async () => {
    const { running, pid } = await startRun();
    const [second, abandoned] = [await startRun(), abandon()];
    process.kill(second.pid, 'SIGKILL');
    await second.running.done;
    await gone(second.pid);
    expect(await stateOf(second.id)).toBe('RUNNING');
    expect((await cli().run(inWay('echo', 2))).code).toBe(0);
    expect(await stateOf(second.id)).toBe('RUNNING');
    expect(existsSync(abandoned)).toBe(true);
    expect(owner()).toEqual([expect.stringContaining(`.${pid}.`)]);
    running.child.kill('SIGINT');
    await running.done;
    // Nobody is the owner now: the next command is.
    expect(await stateOf(second.id)).toBe('LOST');
    expect(existsSync(abandoned)).toBe(false);
  });

  it('is followed, once it was killed, by the next command, which ends its run', async () => {
    const { running, id, pid } = await startRun();
    process.kill(pid, 'SIGKILL');
    await running.done;
    await gone(pid);
    expect(owner()).toEqual([expect.stringContaining(`.${pid}.`)]);
    expect(await stateOf(id)).toBe('LOST');
    expect(owner()).toEqual([]);
    expect(cli().residue()).toEqual([]);
  });

  it('is followed by who follows its run: the stream of logs ends', async () => {
    const { running, id, pid } = await startRun();
    const follower = cli().start(['run', 'logs', id, '--follow', '--json=lines']);
    await follower.seen('stdout', /waiting/);
    process.kill(pid, 'SIGKILL');
    await running.done;
    const { code, stdout } = await follower.done;
    expect({ code, last: JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') }).toMatchObject({
      code: 0,
      last: { event: 'result', run: id, state: 'LOST' },
    });
  });
});

describe('a claim that cannot be read', () => {
  it('is another’s: everything works, nothing is recovered, and once it is gone all is', async () => {
    const { running, id, pid } = await startRun();
    process.kill(pid, 'SIGKILL');
    await running.done;
    await gone(pid);
    const place = inData('run', 'owner');
    for (const name of readdirSync(place)) rmdirSync(join(place, name));
    mkdirSync(join(place, 'somebody'), { recursive: true });
    expect(await stateOf(id)).toBe('RUNNING');
    expect((await cli().run(inWay('echo', 3))).code).toBe(0);
    expect((await cli().run(['doctor', '--json'])).json()).toMatchObject({ usable: true, swept: null });
    expect(owner()).toEqual(['somebody']);
    rmdirSync(join(place, 'somebody'));
    expect(await stateOf(id)).toBe('LOST');
    expect(owner()).toEqual([]);
  });
});
