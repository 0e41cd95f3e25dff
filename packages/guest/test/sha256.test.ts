import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha256Hex } from '../src/harness/sha256.ts';
import { sha256Module } from '../src/harness/sha256-module.ts';
import { assembleSha256 } from './assemble-sha256.ts';

const expected = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

it('uses the module that its source makes', () => {
  expect(Buffer.from(assembleSha256()).toString('base64')).toBe(sha256Module);
});

it('gives the digest of node:crypto for every length around its block and room boundaries', () => {
  const bytes = randomBytes(200_000);
  const around = [0, 64, 128, 64_512, 129_024, 193_536].flatMap((length) =>
    Array.from({ length: 131 }, (_, i) => length - 65 + i).filter((n) => n >= 0),
  );
  for (const length of around) expect(sha256Hex(bytes.subarray(0, length))).toBe(expected(bytes.subarray(0, length)));
});

it('gives the digest of some megabytes, of a view at an odd offset', () => {
  const bytes = new Uint8Array(randomBytes(5_000_003).buffer, 3).subarray(0, 4_999_999);
  expect(sha256Hex(bytes)).toBe(expected(bytes));
});

it('changes with every bit', () => {
  const bytes = new Uint8Array(70);
  const digests = new Set([sha256Hex(bytes)]);
  for (let bit = 0; bit < 560; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3] = 1 << (bit & 7);
    digests.add(sha256Hex(changed));
  }
  expect(digests.size).toBe(561);
});
