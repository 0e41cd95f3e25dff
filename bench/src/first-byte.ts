import { once } from 'node:events';
import { type CellDriver, planRunCell } from '@glovebox/cell';
import { newCellId } from '@glovebox/contract';
import type { BuiltNode } from './built-node.ts';

/** From the boot of a cell to the first byte that its harness sends. */
export async function firstByte(driver: CellDriver, node: BuiltNode): Promise<number> {
  const started = performance.now();
  const cell = await driver.boot(planRunCell(node.image, node.limits, 'ns'), newCellId());
  cell.stdout.resume();
  cell.stderr.resume();
  let bootedMs = Number.NaN;
  const heard = once(cell.channel, 'readable').then(() => {
    bootedMs = performance.now() - started;
  });
  const end = await Promise.race([heard, cell.ended]);
  cell.kill('done');
  await cell.ended;
  if (end !== undefined) throw new Error(`the cell ended: ${end.cause} ${end.error?.message ?? ''}`);
  return bootedMs;
}

/**
 * How much longer the first byte takes by way of `through` than by `direct`, one after the other; which is first
 * alternates with `round`, so that what the machine does meanwhile falls on both.
 */
export async function addedMs(
  through: CellDriver,
  direct: CellDriver,
  node: BuiltNode,
  round: number,
): Promise<number> {
  if (round % 2 === 0) {
    const with_ = await firstByte(through, node);
    return with_ - (await firstByte(direct, node));
  }
  const without = await firstByte(direct, node);
  return (await firstByte(through, node)) - without;
}
