import { expect, it } from 'vitest';
import { promisedCodes } from './error-codes.ts';

it('reads every code that a doc comment promises, over lines and in any order of words', () => {
  const text = `
    /**
     * Takes it.
     * @throws GloveboxError \`NOT_FOUND\`, \`DISK_FULL\` (checked
     *   as it streams) or \`BLOB_CORRUPTED\`. Nothing is left then, see \`OTHER_THING\`.
     * @returns \`NOT_PROMISED\`
     */
    /** @throws GloveboxError \`STORE_BUSY\` */`;
  expect(promisedCodes(text)).toEqual(['NOT_FOUND', 'DISK_FULL', 'BLOB_CORRUPTED', 'STORE_BUSY']);
});

it('takes no other code in backticks for a promise', () => {
  expect(promisedCodes('/** `CANCELLED` is a state. @throws TypeError when `EINVAL`. */')).toEqual([]);
});
