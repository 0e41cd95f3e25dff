import { defineNode } from '@glovebox/sdk';

export default defineNode<{ values: number[] }, object, object>(async (ctx) => {
  const sorted = [...ctx.input.values].sort((a, b) => a - b);
  return {
    count: sorted.length,
    sum: sorted.reduce((total, value) => total + value, 0),
    median: sorted[sorted.length >> 1],
  };
});
