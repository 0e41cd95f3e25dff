import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cell, WitnessedCase } from '@glovebox/cell';
import type { CellPlan } from '@glovebox/contract';

/** What a witness needs of a cell: that it evaluates code, with `say`, `leave` and `require`, and answers. */
export interface WitnessCell extends Pick<Cell, 'dispatch' | 'kill' | 'ended'> {
  run(code: string): void;
  /** The next thing that it says, or `{ ended }`. */
  heard(): Promise<unknown>;
}

export type BootWitness = (limits: Partial<CellPlan['limits']>) => Promise<WitnessCell>;

/** Those that go against a limit from inside of a live cell. The others need their own arrangements and have their own tests. */
export type LiveWitness = Exclude<WitnessedCase['probe'], 'owner-killed' | 'control-files'>;

const MiB = 1024 * 1024;

/** Each boots a cell that goes against one limit, sees what comes of it, and says what speaks against the limit. */
export const liveWitnesses: Record<LiveWitness, (boot: BootWitness) => Promise<string[]>> = {
  'memory-hog': async (boot) => {
    const cell = await boot({ memoryBytes: 96 * MiB });
    cell.run(`
      globalThis.kept = [];
      for (let i = 0; i < 20; i++) kept.push(Buffer.alloc(${8 * MiB}, 1));
      say('kept it');
    `);
    const heard = await cell.heard();
    cell.kill('done');
    const { cause } = await cell.ended;
    if (heard === 'kept it') return ['it took 160 MiB where its plan gives 96'];
    return cause === 'oom' ? [] : [`it ended by ${cause}`];
  },
  'thread-flood': async (boot) => {
    const cell = await boot({ pids: 16 });
    // libuv starts its threads with the first work for them, and aborts when it cannot.
    cell.run(`
      leave();
      process.env.UV_THREADPOOL_SIZE = '32';
      require('node:fs').readFile('/glovebox/harness.cjs', () => say('all started'));
    `);
    const heard = await cell.heard();
    cell.kill('done');
    const { cause } = await cell.ended;
    if (heard === 'all started') return ['it started 32 threads where its plan gives 16'];
    // Whether a driver also tells that the limit was hit is not asked here.
    return cause === 'self' ? [] : [`it ended by ${cause}`];
  },
  'busy-loop': async (boot) => {
    for (let tries = 0; tries < 3; tries++) {
      const { usedMs, free } = await useProcessor(boot);
      if (typeof usedMs !== 'number') return ['it did not end its work'];
      if (usedMs >= wantedMs) return [`it had ${wantedMs} ms of processor time within 3 s`];
      // On a host that is so busy that we do not get that much either, a cell without a limit looks like one with it.
      if (free) return [];
    }
    return ['the host is too busy to tell'];
  },
  'endless-loop': async (boot) => {
    const cell = await boot({});
    cell.run('say(1)');
    await cell.heard();
    await cell.dispatch({ cpu: 1, deadlineMs: 300 });
    cell.run('for (;;) ;');
    await Promise.race([cell.ended, sleep(1000, undefined, { ref: false })]);
    // Only the first reason to kill counts, however long the death takes on a busy host.
    cell.kill('done');
    const { cause } = await cell.ended;
    return cause === 'deadline' ? [] : [`it lived on after its deadline, and ended by ${cause}`];
  },
};

const wantedMs = 200;

/** A twentieth of a core gives 150 ms in three seconds, and one period's share ahead. */
const spin = `
  const began = performance.now();
  const before = process.cpuUsage();
  const used = () => { const { user, system } = process.cpuUsage(before); return (user + system) / 1000; };
  while (used() < ${wantedMs} && performance.now() - began < 3000) ;
`;

/** Processor time in ms that a cell had, of what it wanted, and whether there was as much to be had without a limit. */
async function useProcessor(boot: BootWitness): Promise<{ usedMs: unknown; free: boolean }> {
  const cell = await boot({ cpu: 0.05 });
  cell.run('say(1)');
  await cell.heard();
  await cell.dispatch({ cpu: 0.05, deadlineMs: 30_000 });
  cell.run(`${spin} say(used());`);
  const [usedMs, free] = await Promise.all([cell.heard(), useProcessorFreely()]);
  cell.kill('done');
  await cell.ended;
  return { usedMs, free };
}

/** Whether a process without a limit got at the same time what a cell must not get. */
async function useProcessorFreely(): Promise<boolean> {
  const child = spawn(process.execPath, ['-e', `${spin} process.exit(used() < ${wantedMs} ? 1 : 0);`], {
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  return code === 0;
}
