import { expect, it } from 'vitest';
import { residentGrowth } from './resident.ts';

it('tells of memory that was held for a moment only, and of none where none was taken', async () => {
  const nothing = async (): Promise<void> => undefined;
  await residentGrowth(nothing);
  expect(await residentGrowth(nothing)).toBeLessThan(10);
  const grown = await residentGrowth(async () => Buffer.alloc(64_000_000, 1).length);
  expect(grown).toBeGreaterThan(50);
  expect(grown).toBeLessThan(100);
});
