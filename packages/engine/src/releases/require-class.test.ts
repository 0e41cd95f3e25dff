import { type CellClass, cellClasses } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { requireClass } from './require-class.ts';

const outcome = (minimumClass: unknown, cellClass: CellClass): string => {
  try {
    requireClass('default/a@1.0.0', { schema: 'glovebox.permissions/1', minimumClass } as never, cellClass);
    return 'runs';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it('runs a release in the class that it demands and in stronger ones, and in no weaker one', () => {
  const table = cellClasses.map((demanded) => cellClasses.map((cellClass) => outcome(demanded, cellClass)));
  expect(table).toEqual([
    ['runs', 'runs', 'runs'],
    ['CLASS_TOO_WEAK', 'runs', 'runs'],
    ['CLASS_TOO_WEAK', 'CLASS_TOO_WEAK', 'runs'],
  ]);
});

it.each([undefined, null, '', 'vm', 1])('takes a demand of %j for one that nobody meets', (minimumClass) => {
  expect(outcome(minimumClass, 'kvm')).toBe('CLASS_TOO_WEAK');
});
