import { once } from 'node:events';
import { join } from 'node:path';
import { createCelldDriver } from '@glovebox/cell-celld';
import { newCellId } from '@glovebox/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import { openCelldBench } from '../../../test/support/celld-bench.ts';
import { openHouse, patience } from './house.ts';
import { openImages } from './images.ts';
import { createQuota } from './quota.ts';
import { createCelldServer } from './serve.ts';

/** celld in this process, with less patience, so that a test need not have so much. */
const bench = openCelldBench();
const house = openHouse({
  driver: bench.cells.driver,
  images: openImages(bench.imagesDirectory),
  quota: createQuota({ cells: 1, memoryBytes: 2 ** 40 }),
  patience: { ...patience, requestMs: 400, drainMs: 1500 },
});
const server = createCelldServer({ house, maxCells: 1 });
const socketPath = join(bench.home, 'socket', 'impatient.sock');
const driver = createCelldDriver({ socketPath });
beforeAll(async () => {
  server.listen(socketPath);
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await bench.remove();
});

/** More than all buffers on the way hold. */
const size = 400_000;
const code = `require('node:fs').writeSync(1, 'x'.repeat(${size})); process.reallyExit(0)\0`;

it('gives a client all that a dead cell wrote, when it reads at last', async () => {
  const cell = await driver.boot(bench.cells.plan(), newCellId());
  cell.stderr.resume();
  cell.channel.resume();
  cell.channel.write(code);
  expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0 } });
  let bytes = 0;
  for await (const chunk of cell.stdout) bytes += (chunk as Buffer).length;
  expect(bytes).toBe(size);
  expect(await eventually(() => house.sessions.size === 0)).toBe(true);
});

it('cuts what is not read in time, tells so, and lets go of all of it', async () => {
  const cell = await driver.boot(bench.cells.plan(), newCellId());
  cell.stderr.resume();
  cell.channel.resume();
  const failed = once(cell.stdout, 'error') as Promise<[Error & { code: string }]>;
  cell.channel.write(code);
  expect(await cell.ended).toMatchObject({ cause: 'self' });
  expect(house.sessions.size).toBe(1);
  const [error] = await failed;
  expect(error.code).toBe('CELL_LOST');
  expect(await eventually(() => house.sessions.size === 0)).toBe(true);
  // The place of a dead cell is free while its output is read.
  const next = await driver.boot(bench.cells.plan(), newCellId());
  next.kill('done');
  await next.ended;
});
