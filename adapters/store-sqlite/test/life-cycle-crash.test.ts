import { join } from 'node:path';
import { expect, it } from 'vitest';
import { killWriters } from './support/kill-writers.ts';
import { makeDirectory } from './support/records.ts';

it.each(['worker', 'caller'] as const)(
  'kill -9 leaves drafts, releases and audit in a state that they may be in, with all that was acknowledged (store in the %s thread)',
  async (thread) => {
    const home = makeDirectory();
    const kills = await killWriters(join(home.dir, 'glovebox.db'), { rounds: 8, seed: 20_261_130, thread });
    // Not vacuous.
    expect(kills.acknowledged).toBeGreaterThan(40);
    expect(kills.left).toBeGreaterThan(0);
    expect(Object.keys(kills.told).sort()).toEqual(
      expect.arrayContaining([
        'attempt.ended',
        'draft.put',
        'draft.validation-ended',
        'release.published',
        'release.revoked',
      ]),
    );
    home.remove();
  },
);
