import { newCellId, newInstanceId } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { formatOwnedName, judgeOwner, parseOwnedName, readOwnMark } from './ownership.ts';

const mark = readOwnMark(newInstanceId());

describe('an owned name', () => {
  it('reads back as what it was made of, and fits into a file name', () => {
    const cell = newCellId();
    const name = formatOwnedName(cell, mark);
    expect(parseOwnedName(name)).toEqual({ cell, ...mark });
    expect(name.length).toBeLessThan(255);
    expect(name).toMatch(/^[\w.-]+$/);
  });

  it('is refused in every other spelling', () => {
    const name = formatOwnedName(newCellId(), mark);
    for (const text of [
      '',
      '.',
      `${name}.`,
      `.${name}`,
      `x${name}`,
      name.replace('cell_', 'cell-'),
      name.toUpperCase(),
      `${name}/..`,
      name.replace(/\.\d+$/, ''),
      name.replace(/\d+\.(\d+)\.(\d+)$/, '0.$1.$2'),
      `${name}\n`,
    ]) {
      expect(parseOwnedName(text), text).toBeUndefined();
    }
  });
});

it('judges an owner by its process, and knows nothing of one in another pid namespace', () => {
  expect(judgeOwner(mark)).toBe('alive');
  expect(judgeOwner({ ...mark, owner: { ...mark.owner, startTicks: '1' } })).toBe('dead');
  expect(judgeOwner({ owner: { ...mark.owner, startTicks: '1' }, pidNamespace: '1' })).toBe('unknown');
});
