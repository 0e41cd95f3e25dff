import type { Cell, CellDriver, CellEnd } from '@glovebox/cell';
import { type CellPlan, GloveboxError, newCellId } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { limitCells } from './limited-driver.ts';

/** As far as a limit looks at cells: one lives until it is ended by hand. */
function countingDriver(): { driver: CellDriver; ends: (() => void)[]; failNext: () => void } {
  const ends: (() => void)[] = [];
  let failing = false;
  const boot = async (): Promise<Cell> => {
    if (failing) {
      failing = false;
      throw new GloveboxError('UID_RANGE_EXHAUSTED');
    }
    const { promise, resolve } = Promise.withResolvers<CellEnd>();
    ends.push(() => resolve({} as CellEnd));
    return { ended: promise } as Cell;
  };
  const driver = { name: 'counting', boot } as unknown as CellDriver;
  const failNext = (): void => {
    failing = true;
  };
  return { driver, ends, failNext };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};
const plan = {} as CellPlan;

it('boots no more cells than the limit until one is dead, and those who wait in their order', async () => {
  const { driver, ends } = countingDriver();
  const limited = limitCells(driver, 2);
  const booted: number[] = [];
  const boots = [0, 1, 2, 3].map((i) => limited.boot(plan, newCellId()).then(() => booted.push(i)));
  await turns();
  expect(booted).toEqual([0, 1]);
  ends[1]?.();
  await turns();
  expect(booted).toEqual([0, 1, 2]);
  ends[0]?.();
  await Promise.all(boots);
  expect(booted).toEqual([0, 1, 2, 3]);
});

it('gives back the place of a cell that did not boot', async () => {
  const { driver, ends, failNext } = countingDriver();
  const limited = limitCells(driver, 1);
  failNext();
  await expect(limited.boot(plan, newCellId())).rejects.toMatchObject({ code: 'UID_RANGE_EXHAUSTED' });
  await limited.boot(plan, newCellId());
  expect(ends).toHaveLength(1);
});
