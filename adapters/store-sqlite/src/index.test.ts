import { expect, it } from 'vitest';
import * as store from './index.ts';

it('exports these values and no others', () => {
  expect(Object.keys(store)).toEqual(['openStore']);
});
