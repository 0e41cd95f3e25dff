import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from './address.ts';
import { blockOf, isCovered, parseCidr } from './cidr.ts';

const bytesOf = (text: string): Uint8Array => parseAddress(text) ?? new Uint8Array(0);
const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

describe('a block of addresses', () => {
  it.each([
    ['10.0.0.0/8', '10.255.255.255', '11.0.0.0'],
    ['172.16.0.0/12', '172.31.255.255', '172.32.0.0'],
    ['1.2.3.4/32', '1.2.3.4', '1.2.3.5'],
    ['0.0.0.0/1', '127.255.255.255', '128.0.0.0'],
    ['fe80::/10', 'febf:ffff::1', 'fec0::'],
    ['2001:db8::/33', '2001:db8:7fff::', '2001:db8:8000::'],
    ['::1/128', '::1', '::2'],
  ])('of %s has %s and not %s', (block, inside, outside) => {
    expect(isCovered(bytesOf(inside), blockOf(block))).toBe(true);
    expect(isCovered(bytesOf(outside), blockOf(block))).toBe(false);
  });

  it.each([
    ...['', '10.0.0.0', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', '10.0.0.0/8 ', '10.0.0.0/8/8', '/8'],
    ...['10.0.0.1/8', '10.1.0.0/8', '::/129', '::1/127', 'fd00::1/8', '010.0.0.0/8', '10.0/8', 'x/8', '10.0.0.0/1e1'],
  ])('is not read from %j', (text) => {
    expect(parseCidr(text)).toBeUndefined();
    expect(() => blockOf(text)).toThrow(RangeError);
  });

  it('keeps families apart, and takes a block of mapped addresses for the IPv4 block that it is', () => {
    expect(isCovered(bytesOf('1.2.3.4'), blockOf('::/0'))).toBe(false);
    expect(isCovered(bytesOf('::1.2.3.4'), blockOf('0.0.0.0/0'))).toBe(false);
    expect(parseCidr('::ffff:10.0.0.0/104')).toEqual(parseCidr('10.0.0.0/8'));
    expect(isCovered(bytesOf('10.9.9.9'), blockOf('::ffff:a00:0/104'))).toBe(true);
    expect(parseCidr('::/95')?.address).toHaveLength(16);
  });

  it('has the addresses that arithmetic says it has', () => {
    const seen = { inside: 0, outside: 0 };
    const family = fc.constantFrom(4, 16);
    fc.assert(
      fc.property(
        family.chain((length) =>
          fc.record({
            base: fc.uint8Array({ minLength: length, maxLength: length }),
            bits: fc.nat(length * 8),
            flip: fc.nat(length * 8 - 1),
          }),
        ),
        ({ base, bits, flip }) => {
          const width = BigInt(base.length * 8);
          const rest = width - BigInt(bits);
          const start = (numberOf(base) >> rest) << rest;
          const address = Uint8Array.from(base);
          address[flip >> 3] = (address[flip >> 3] as number) ^ (0x80 >> (flip & 7));
          const startBytes = Uint8Array.from(Buffer.from(start.toString(16).padStart(base.length * 2, '0'), 'hex'));
          const block = blockOf(`${formatAddress(startBytes)}/${bits}`);
          const expected = numberOf(address) >> rest === start >> rest;
          seen[expected ? 'inside' : 'outside']++;
          expect(isCovered(base, block)).toBe(true);
          expect(isCovered(address, block)).toBe(expected);
        },
      ),
      { seed: 52, numRuns: 1000 },
    );
    expect(Math.min(seen.inside, seen.outside)).toBeGreaterThan(100);
  });
});
