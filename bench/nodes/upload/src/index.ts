import { defineNode } from '@glovebox/sdk';

export default defineNode<{ bytes: number }, object, object>(async (ctx) => {
  const chunk = Buffer.alloc(250_000, 'glovebox');
  async function* content() {
    for (let left = ctx.input.bytes; left > 0; left -= chunk.length)
      yield left >= chunk.length ? chunk : chunk.subarray(0, left);
  }
  return await ctx.files.write('upload.bin', content(), 'application/octet-stream');
});
