import { beforeAll, describe, expect, it } from 'vitest';
import { manyWays } from '../support/many-ways.ts';
import { useCli } from '../support/use-cli.ts';
import { killRuns } from './kill-runs.ts';

const cli = useCli();
beforeAll(() => cli().node('many-ways', manyWays));

describe('kill -9 during node run, at many points', () => {
  it.each([1, 2])(
    'leaves records whole, no cell, nothing half-written, and a CLI that works (seed %i)',
    async (seed) => {
      const outcomes = await killRuns(cli(), { count: 60, seed });
      expect(outcomes.killed).toBeGreaterThanOrEqual(45);
      expect(outcomes.lost).toBeGreaterThanOrEqual(5);
      expect(outcomes.unrecorded).toBeGreaterThanOrEqual(5);
    },
  );
});
