import type { CellDriver } from '@glovebox/cell';

/**
 * The same driver with at most `limit` cells alive at a time; who boots one more waits, in order. A cell counts until it
 * is dead.
 */
export function limitCells(driver: CellDriver, limit: number): CellDriver {
  let free = limit;
  const waiting: (() => void)[] = [];
  const acquire = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    ...driver,
    async boot(plan, id) {
      await acquire();
      try {
        const cell = await driver.boot(plan, id);
        void cell.ended.then(release, release);
        return cell;
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}
