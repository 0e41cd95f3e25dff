import { createOciDriver } from '@glovebox/cell-oci';
import { newCellId } from '@glovebox/contract';

/**
 * Owns cells without end: some boot while others answer and others die, so that whenever it is killed something of each is
 * under way. It says so each time one was gone whole.
 */
const { instance, runDirectory, rootfs, plan, runtime, atOnce } = JSON.parse(process.argv[2] ?? '');
const driver = createOciDriver({ instance, runDirectory, rootfsOf: () => rootfs, runtime });

const one = async (): Promise<void> => {
  const cell = await driver.boot(plan, newCellId());
  for (const stream of [cell.stdout, cell.stderr]) stream.resume();
  cell.channel.write('say(1)\0');
  cell.channel.once('data', () => cell.kill('done'));
  const { cause } = await cell.ended;
  process.stdout.write(`${cause}\n`);
};
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (;;) await one();
  }),
);
