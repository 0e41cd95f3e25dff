import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createCelldDriver } from '@glovebox/cell-celld';
import { type CellPlan, newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import { openCelldBench } from '../../../test/support/celld-bench.ts';
import { openHouse, patience } from './house.ts';
import { openImages } from './images.ts';
import { createQuota } from './quota.ts';
import { createCelldServer } from './serve.ts';

/** celld in this process, so that it can be seen what it has its driver do, and when. */
const bench = openCelldBench();
const asked = { boots: 0, gauges: 0 };
let gate: Promise<unknown> = Promise.resolve();
const real = bench.cells.driver;
const house = openHouse({
  driver: {
    ...real,
    async boot(plan, id) {
      asked.boots++;
      await gate;
      return real.boot(plan, id);
    },
    gauges() {
      asked.gauges++;
      return real.gauges();
    },
  },
  images: openImages(bench.imagesDirectory),
  quota: createQuota({ cells: 40, memoryBytes: 2 ** 40 }),
  patience: { ...patience, drainMs: 20_000 },
});
const server = createCelldServer({ house, maxCells: 40 });
const socketPath = join(bench.home, 'socket', 'crowd.sock');
const driver = createCelldDriver({ socketPath });
beforeAll(async () => {
  server.listen(socketPath);
  await once(server, 'listening');
});
afterEach(async () => {
  await bench.cells.settle();
  expect(await eventually(() => house.sessions.size === 0)).toBe(true);
});
afterAll(async () => {
  server.close();
  await bench.remove();
});

const closeGate = (): (() => void) => {
  let open = (): void => {};
  gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  return open;
};

/** Ask for a cell without the driver, and be there when it is accepted. */
async function askForCell(plan: CellPlan = bench.cells.plan()): Promise<{ control: Socket; id: string; key: string }> {
  const [id, key] = [newCellId(), randomBytes(16).toString('hex')];
  const control = connect(socketPath);
  control.write(`${JSON.stringify({ celld: 1, open: 'cell', id, key, plan })}\n`);
  await once(control, 'data');
  return { control, id, key };
}

it('does not boot what was given up before its turn', async () => {
  const before = asked.boots;
  const open = closeGate();
  const controls = await Promise.all(Array.from({ length: 30 }, () => askForCell()));
  for (const { control } of controls) control.destroy();
  await Promise.all(controls.map(({ control }) => once(control, 'close')));
  const booting = bench.cells.boot({}, driver);
  open();
  const cell = await booting;
  // Those whose turn it was, and the one that is wanted.
  expect(asked.boots - before).toBeLessThan(15);
  cell.run('say(1)');
  expect(await cell.heard()).toBe(1);
});

it('closes the end of a cell of which the client has let go while it was booted', async () => {
  const open = closeGate();
  const { control, id, key } = await askForCell();
  const attach = async (stream: string): Promise<Socket> => {
    const socket = connect(socketPath);
    socket.write(`${JSON.stringify({ celld: 1, open: 'stream', id, key, stream })}\n`);
    expect(String((await once(socket, 'data'))[0])).toContain('attached');
    return socket;
  };
  const [channel, stdout] = [await attach('channel'), await attach('stdout')];
  stdout.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  open();
  const heard = once(channel, 'data');
  channel.write("let how = 'ok'; try { require('node:fs').writeSync(1, 'x'); } catch (e) { how = e.code; } say(how)\0");
  expect(JSON.parse(String((await heard)[0]))).toBe('EPIPE');
  control.destroy();
});

it('looks through the host once for all who ask at a time', async () => {
  const before = asked.gauges;
  const answers = await Promise.all(Array.from({ length: 50 }, () => driver.gauges()));
  expect(answers).toHaveLength(50);
  // Those who asked when it had begun wait for the next one.
  expect(asked.gauges - before).toBeLessThanOrEqual(3);
});

it('is done with a cell of a bundler as soon as that is dead, though its client says on', async () => {
  const cell = await driver.boot(bench.cells.plan({}, 'bundle'), newCellId());
  for (const stream of [cell.channel, cell.stdout, cell.stderr]) stream.resume();
  cell.stdin?.write('more to come');
  await cell.ended;
  expect(await eventually(() => house.sessions.size === 0, 3000)).toBe(true);
});

it('keeps the share of a cell that could not be removed, until a sweep has removed it', async () => {
  const cell = await bench.cells.boot({}, driver);
  const cells = join(bench.cells.runDirectory, 'cells');
  const stuck = join(cells, readdirSync(cells).find((name) => name.includes(cell.id)) ?? '', 'stuck');
  mkdirSync(stuck);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'glovebox-test', stuck]);
  const others = Array.from({ length: 39 }, () => house.quota.take({ memoryBytes: 0 }));
  try {
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ error: { code: 'CELL_LOST' } });
    expect(() => house.quota.take({ memoryBytes: 0 })).toThrow(expect.objectContaining({ code: 'CELLD_FULL' }));
  } finally {
    execFileSync('umount', [stuck]);
    for (const other of others) other.release();
  }
  expect((await driver.sweep()).removed.directories).toBeLessThanOrEqual(1);
  expect(bench.cells.residue()).toMatchObject({ directories: [], claims: [] });
});

it('makes no cell once it is stopping, and still answers what takes none', async () => {
  house.isStopping = true;
  try {
    await expect(driver.boot(bench.cells.plan(), newCellId())).rejects.toMatchObject({ code: 'CELLD_FULL' });
    expect(await driver.inspect(bench.cells.plan().image)).toMatchObject({ facts: [{ state: 'unknown' }] });
    expect(await driver.gauges()).toMatchObject({ directories: 0 });
  } finally {
    house.isStopping = false;
  }
});
