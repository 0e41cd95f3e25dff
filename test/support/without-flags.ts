import type { DriverOverrides } from '../../apps/cli/src/local-engine.ts';

/**
 * Cells in which Node.js refuses nothing by itself: without `--permission` and what belongs to it. What is refused then is
 * refused by the cell.
 */
export const withoutFlags: DriverOverrides = {
  weakenForTest: (spec) => ({
    ...spec,
    process: {
      ...spec.process,
      args: spec.process.args.filter((arg) => arg !== '--permission' && !arg.startsWith('--allow-')),
    },
  }),
};
