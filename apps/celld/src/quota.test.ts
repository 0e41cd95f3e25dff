import { GloveboxError } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { createQuota } from './quota.ts';

const most = { cells: 3, memoryBytes: 1000 };

const codeOf = (action: () => unknown): string => {
  try {
    action();
    return 'none';
  } catch (thrown) {
    return GloveboxError.is(thrown) ? thrown.code : String(thrown);
  }
};

it('gives what there is, to the last byte and cell, and refuses the next', () => {
  const quota = createQuota(most);
  quota.take({ memoryBytes: 600 });
  expect(codeOf(() => quota.take({ memoryBytes: 401 }))).toBe('CELLD_FULL');
  quota.take({ memoryBytes: 400 });
  quota.take({ memoryBytes: 0 });
  expect(codeOf(() => quota.take({ memoryBytes: 0 }))).toBe('CELLD_FULL');
});

it('takes back what is released, once', () => {
  const quota = createQuota(most);
  const first = quota.take({ memoryBytes: 600 });
  quota.take({ memoryBytes: 400 });
  first.release();
  first.release();
  expect(codeOf(() => quota.take({ memoryBytes: 601 }))).toBe('CELLD_FULL');
  quota.take({ memoryBytes: 600 });
});

it('keeps the share of a cell that may still run until no cell is on the host, and no living or later one with it', () => {
  const quota = createQuota(most);
  const lost = quota.take({ memoryBytes: 600 });
  quota.take({ memoryBytes: 100 });
  lost.keep();
  expect(codeOf(() => quota.take({ memoryBytes: 600 }))).toBe('CELLD_FULL');
  const forget = quota.keptUntilNow();
  const later = quota.take({ memoryBytes: 100 });
  later.keep();
  forget();
  quota.take({ memoryBytes: 600 });
  expect(codeOf(() => quota.take({ memoryBytes: 201 }))).toBe('CELLD_FULL');
});
