import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import { openCelldBench } from '../../../test/support/celld-bench.ts';

const bench = openCelldBench();
afterAll(() => bench.remove());

/** Boots one cell after the other, three at a time, uses each and lets it go, until it is killed. */
const client = `
  import { createCelldDriver } from '@glovebox/cell-celld';
  import { newCellId } from '@glovebox/contract';
  const { socketPath, plan } = JSON.parse(process.argv[1]);
  const driver = createCelldDriver({ socketPath });
  const work = async () => {
    for (;;) {
      const cell = await driver.boot(plan, newCellId()).catch(() => undefined);
      if (cell === undefined) { await new Promise((resolve) => setTimeout(resolve, 20)); continue; }
      cell.stdout.resume();
      cell.stderr.resume();
      cell.channel.write('say(1)\\0');
      cell.channel.once('data', () => { console.log('used'); cell.kill('done'); });
      await cell.ended;
    }
  };
  console.log('up');
  for (let i = 0; i < 3; i++) void work();
`;

const isEmpty = (): boolean => Object.values(bench.residue()).every((list) => list.length === 0);

it('leaves nothing, whoever is killed and when, once a celld has started again', async () => {
  let used = 0;
  const rounds: string[] = [];
  for (let round = 0; round < 20; round++) {
    const celld = await bench.start();
    const given = JSON.stringify({ socketPath: celld.socketPath, plan: bench.cells.plan() });
    const child = spawn(process.execPath, ['--input-type=module', '-e', client, given], {
      cwd: import.meta.dirname,
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // The moment counts from the first boot on, however long it takes to get there.
    await once(child.stdout, 'data');
    child.stdout.on('data', (chunk: Buffer) => {
      used += chunk.toString().split('used').length - 1;
    });
    const afterMs = Math.floor(Math.random() * 1500);
    await sleep(afterMs);
    const victim = Math.random() < 0.5 ? 'client' : 'celld';
    rounds.push(`${victim} after ${afterMs} ms`);
    if (victim === 'client') {
      child.kill('SIGKILL');
      expect(await eventually(isEmpty), rounds.at(-1)).toBe(true);
      await celld.end('SIGKILL');
    } else {
      await celld.end('SIGKILL');
      expect(await eventually(() => bench.residue().processes.length === 0), rounds.at(-1)).toBe(true);
      const next = await bench.start();
      // Its client is still there, and boots again.
      child.kill('SIGKILL');
      expect(await eventually(isEmpty), rounds.at(-1)).toBe(true);
      await next.end('SIGTERM');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  // Kills that all came before the first cell would have shown nothing.
  expect(used, rounds.join('\n')).toBeGreaterThan(10);
});
