import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from './address.ts';

const seed = 51;
const hex = (text: string): string | undefined => {
  const bytes = parseAddress(text);
  return bytes && Buffer.from(bytes).toString('hex');
};

describe('an address', () => {
  it.each([
    ['0.0.0.0', '00000000'],
    ['127.0.0.1', '7f000001'],
    ['255.255.255.255', 'ffffffff'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['2001:DB8::8:800:200c:417a', '20010db80000000000080800200c417a'],
    ['2001:db8:0:0:8:800:200c:417a', '20010db80000000000080800200c417a'],
    ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
    ['::2:3:4:5:6:7:8', '00000002000300040005000600070008'],
    ['::ffff:127.0.0.1', '00000000000000000000ffff7f000001'],
    ['0:0:0:0:0:FFFF:129.144.52.38', '00000000000000000000ffff81903426'],
    ['64:ff9b::1.2.3.4', '0064ff9b000000000000000001020304'],
  ])('of %s is read', (text, expected) => {
    expect(hex(text)).toBe(expected);
  });

  it.each([
    ...[
      '',
      '1',
      '1.2.3',
      '1.2.3.4.5',
      '1.2.3.256',
      '01.2.3.4',
      '1.2.3.04',
      '0x7f.0.0.1',
      '127.1',
      '2130706433',
      '1.2.3.4.',
    ],
    ...[' 1.2.3.4', '1.2.3.4 ', '1.2.3.-4', '1.2.3.4/8', '+1.2.3.4', '1..2.3', '١.2.3.4', '１.2.3.4'],
    ...[
      ':',
      ':::',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1:2:3:4:5:6:7:8::',
      '::1::',
      '1::2::3',
      '12345::',
      '::g',
      ':1',
      '1:',
    ],
    ...[
      'fe80::1%eth0',
      '[::1]',
      '::1.2.3',
      '::1.2.3.4:5',
      '1.2.3.4::',
      '::01.2.3.4',
      '1:2:3:4:5:6:7:1.2.3.4',
      '::1/64',
      ' ::1',
    ],
    '0'.repeat(60),
    `${'0:'.repeat(5000)}0`,
  ])('is not read from %j', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  it('is written as it is read, and as the URL parser writes it', () => {
    const seen = { compressed: 0, plain: 0 };
    // Groups that are mostly zero, so that runs of zeros of every length come up.
    const group = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(0xffff) });
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const bytes = Uint8Array.from(groups.flatMap((value) => [value >> 8, value & 0xff]));
        const text = formatAddress(bytes);
        seen[text.includes('::') ? 'compressed' : 'plain']++;
        expect(parseAddress(text)).toEqual(bytes);
        expect(`[${text}]`).toBe(new URL(`http://[${groups.map((value) => value.toString(16)).join(':')}]/`).hostname);
      }),
      { seed, numRuns: 500 },
    );
    expect(Math.min(seen.compressed, seen.plain)).toBeGreaterThan(20);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (bytes) => {
        expect(parseAddress(formatAddress(bytes))).toEqual(bytes);
      }),
      { seed, numRuns: 200 },
    );
  });

  it('is not written from another number of bytes', () => {
    for (const length of [0, 3, 5, 15, 17]) expect(() => formatAddress(new Uint8Array(length))).toThrow(RangeError);
  });
});
