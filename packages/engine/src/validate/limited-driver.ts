import { type CellDriver, createTurns } from '@glovebox/cell';

/**
 * The same driver with at most `limit` cells alive at a time; who boots one more waits, in order. A cell counts until it
 * is dead.
 */
export function limitCells(driver: CellDriver, limit: number): CellDriver {
  const turns = createTurns(limit);
  return {
    ...driver,
    async boot(plan, id) {
      const end = await turns.begin();
      try {
        const cell = await driver.boot(plan, id);
        void cell.ended.then(end, end);
        return cell;
      } catch (error) {
        end();
        throw error;
      }
    },
  };
}
