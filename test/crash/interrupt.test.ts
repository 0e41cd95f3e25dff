import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunningCli } from '../support/cli.ts';
import { mkfifoSync } from '../support/fifo.ts';
import { gone, livingProcesses } from '../support/kill-points.ts';
import { inWay, manyWays } from '../support/many-ways.ts';
import { type CliHome, makeCliHome, useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
beforeAll(async () => {
  await cli().node('many-ways', manyWays);
  expect((await cli().run(inWay('echo', 1))).code).toBe(0);
});

/** What a terminal does on Ctrl-C: the signal goes to every process of the foreground. */
function pressCtrlC({ child, workerPid }: RunningCli): void {
  const worker = workerPid();
  child.kill('SIGINT');
  if (worker !== undefined) process.kill(worker, 'SIGINT');
}

const started = async (running: RunningCli): Promise<string> => {
  const [, id = ''] = await running.seen('stdout', /"event":"run","run":"(run_\w+)"/);
  return id;
};

const show = async (home: CliHome, id: string) => (await home.run(['run', 'show', id, '--json'])).json();

describe.concurrent('the first interrupt of a run', () => {
  it.each<[string, (running: RunningCli) => void]>([
    ['Ctrl-C in a terminal', pressCtrlC],
    ['SIGINT to the launcher', ({ child }) => child.kill('SIGINT')],
    ['SIGTERM to the launcher', ({ child }) => child.kill('SIGTERM')],
    ['SIGHUP to the launcher', ({ child }) => child.kill('SIGHUP')],
    ['SIGINT to the program itself', ({ workerPid }) => process.kill(workerPid() as number, 'SIGINT')],
  ])('by %s tells the node, which may say a last word, and ends CANCELLED with 130', async (_, interrupt) => {
    const running = cli().start([...inWay('wait', 170_000), '--json=lines']);
    const id = await started(running);
    await running.seen('stdout', /"message":"waiting"/);
    interrupt(running);
    const { code, stdout } = await running.done;
    expect(code).toBe(130);
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
    expect(last).toMatchObject({
      event: 'result',
      run: id,
      state: 'CANCELLED',
      error: { code: 'CANCELLED' },
      output: null,
    });
    const shown = await show(cli(), id);
    expect(shown).toMatchObject({ state: 'CANCELLED', receiptDigest: last.receiptDigest });
    expect((shown.logs as { message: string }[]).map(({ message }) => message)).toEqual(['waiting', 'told CANCELLED']);
    expect((await cli().run(['verify', id])).code).toBe(0);
  });

  it('ends a node that does not listen two seconds later', async () => {
    const running = cli().start([...inWay('stay'), '--json=lines']);
    const id = await started(running);
    await running.seen('stdout', /"message":"staying"/);
    pressCtrlC(running);
    await running.seen('stdout', /"message":"told and staying"/);
    expect((await running.done).code).toBe(130);
    const { state, phasesMs } = await show(cli(), id);
    expect(state).toBe('CANCELLED');
    expect((phasesMs as { run: number }).run).toBeGreaterThan(1900);
  });

  it('ends a node that spins, and one that has not begun', async () => {
    const spinning = cli().start([...inWay('spin'), '--json=lines']);
    const spun = await started(spinning);
    await spinning.seen('stdout', /"step":"run"/);
    pressCtrlC(spinning);
    expect((await spinning.done).code).toBe(130);
    expect((await show(cli(), spun)).state).toBe('CANCELLED');

    const booting = cli().start([...inWay('wait', 170_000), '--json=lines']);
    const booted = await started(booting);
    pressCtrlC(booting);
    expect((await booting.done).code).toBe(130);
    expect((await show(cli(), booted)).state).toBe('CANCELLED');
  });

  it('ends at once while input is awaited, from a pipe or standard input', async () => {
    const dataDir = join(cli().dir, 'untouched');
    const options = { env: { GLOVEBOX_DATA_DIR: dataDir } };
    const waiting = cli().start(['node', 'run', 'many-ways', '--trial', '--input', '@-'], {
      ...options,
      stdin: { open: true },
    });
    const pipe = mkfifoSync(join(cli().dir, 'pipe'));
    const blocked = cli().start(['node', 'run', 'many-ways', '--trial', '--input', `@${pipe}`], options);
    for (const running of [waiting, blocked]) {
      while (running.workerPid() === undefined) await sleep(10);
      await sleep(500);
      expect(running.child.exitCode).toBeNull();
      pressCtrlC(running);
      expect((await running.done).code).toBe(130);
    }
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('an interrupt of a build', () => {
  it('records nothing, ends 130 and leaves nothing', async () => {
    const runs = async () => (await cli().run(['run', 'list', '--json'])).json().runs;
    const before = await runs();
    await cli().node('fresh', { id: 'fresh', body: 'return "not bundled yet";' });
    const running = cli().start(['node', 'run', 'fresh', '--trial', '--json=lines']);
    await running.seen('stdout', /"step":"bundle"/);
    pressCtrlC(running);
    const { code, stdout } = await running.done;
    expect(code).toBe(130);
    expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      event: 'error',
      error: { code: 'INTERRUPTED', hint: expect.stringMatching(/\S/) },
    });
    expect(await runs()).toEqual(before);
    expect(cli().residue()).toEqual([]);
    expect(cli().leftovers()).toEqual([]);
    expect((await cli().run(['node', 'run', 'fresh', '--trial'])).code).toBe(0);
  });
});

describe('the second interrupt', () => {
  it('leaves at once; the cell dies with it, and the next command sweeps', async () => {
    const running = cli().start([...inWay('stay'), '--json=lines']);
    const id = await started(running);
    await running.seen('stdout', /"message":"staying"/);
    const worker = running.workerPid() as number;
    pressCtrlC(running);
    await running.seen('stdout', /"message":"told and staying"/);
    pressCtrlC(running);
    expect((await running.done).code).toBe(130);
    await gone(worker);
    expect(await livingProcesses(cli())).toEqual([]);
    const listed = (await cli().run(['run', 'list', '--json'])).json().runs as { id: string; state: string }[];
    expect(listed.find((run) => run.id === id)?.state).toBe('LOST');
    expect(cli().residue()).toEqual([]);
    expect(cli().leftovers()).toEqual([]);
  });
});

describe('an interrupt of anything else', () => {
  it('ends it at once, and what it was making is not there', async () => {
    const home = await makeCliHome('none');
    try {
      const building = home.start(['image', 'build']);
      await building.seen('stderr', /collecting/);
      pressCtrlC(building);
      expect((await building.done).code).toBe(130);
      const shown = await home.run(['image', 'show', '--json']);
      expect(shown.json().error?.code).toBe('IMAGE_MISSING');
      expect((await home.run(['image', 'build'])).code).toBe(0);
      expect(home.leftovers()).toEqual([]);
      const looking = home.start(['doctor']);
      await looking.seen('stderr', /Looking at the host/);
      pressCtrlC(looking);
      expect((await looking.done).code).toBe(130);
      expect((await home.run(['doctor'])).code).toBe(0);
      expect(home.residue()).toEqual([]);
    } finally {
      home.remove();
    }
  });
});

describe('the death of the launcher', () => {
  it('takes the program and its cell along', async () => {
    const running = cli().start([...inWay('stay'), '--json=lines']);
    const id = await started(running);
    await running.seen('stdout', /"message":"staying"/);
    const worker = running.workerPid() as number;
    running.child.kill('SIGKILL');
    // Its output stays open until the program is gone too.
    await running.done;
    await gone(worker);
    expect((await show(cli(), id)).state).toBe('LOST');
    expect(cli().residue()).toEqual([]);
  });
});
