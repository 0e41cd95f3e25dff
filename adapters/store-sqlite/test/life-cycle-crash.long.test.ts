import { join } from 'node:path';
import { expect, it } from 'vitest';
import { killWriters } from './support/kill-writers.ts';
import { makeDirectory } from './support/records.ts';

it.each([1, 2])(
  'kill -9 at many points leaves drafts, releases and audit in a state that they may be in (seed %i)',
  { timeout: 600_000 },
  async (seed) => {
    const home = makeDirectory();
    const path = join(home.dir, 'glovebox.db');
    const kills = await killWriters(path, { rounds: 60, seed, thread: seed % 2 === 0 ? 'caller' : 'worker' });
    expect(kills.acknowledged).toBeGreaterThan(400);
    expect(kills.left).toBeGreaterThan(5);
    home.remove();
  },
);
