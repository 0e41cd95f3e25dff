import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAddress } from './address.ts';
import { embeddedIpv4 } from './address-embedded.ts';
import { blockOf } from './cidr.ts';
import { specialUseOf, specialUseTable } from './special-use.ts';
import { neverAddress, neverAllowed, neverName } from './special-use-never.ts';

function bytesOf(text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes === undefined) throw new Error(text);
  return bytes;
}

/** The first and the last address of a block. */
function endsOf(block: string): [Uint8Array, Uint8Array] {
  const { address, bits } = blockOf(block);
  const last = address.map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, bits - index * 8))));
  return [address, last];
}

describe('special addresses', () => {
  it.each(specialUseTable.map(({ block, id }) => [block, id] as const))(
    'are the first and the last of %s (%s)',
    (block, id) => {
      const [first, last] = endsOf(block);
      expect(specialUseOf(last)).toBeDefined();
      // Of a block within another one the narrowest names it; the first address may lie in one that is narrower still.
      const named = [first, last].map((address) => specialUseOf(address)?.id);
      expect(named).not.toContain(undefined);
      const narrower = specialUseTable.filter(
        (row) => row.block !== block && blockOf(row.block).bits > blockOf(block).bits,
      );
      if (!narrower.some((row) => endsOf(row.block)[0].join() === first.join())) expect(named[0]).toBe(id);
    },
  );

  it('have ids that are there once, and a source', () => {
    expect(new Set(specialUseTable.map(({ id }) => id)).size).toBe(specialUseTable.length);
    expect(new Set(specialUseTable.map(({ block }) => block)).size).toBe(specialUseTable.length);
    for (const { source } of specialUseTable) expect(source).toMatch(/^RFC \d+$/);
  });

  it.each([
    ...[
      '1.1.1.1',
      '8.8.8.8',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
    ],
    ...['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '192.167.255.255'],
    ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '203.0.112.255', '203.0.114.0', '223.255.255.255'],
    ...['2606:4700::1111', '2001:200::1', '2001:4860:4860::8888', '2003::1', '2a00::1', '3ffe::1', '3fff:1000::1'],
    ...['::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8'],
  ])('are not %s', (text) => {
    expect(specialUseOf(bytesOf(text))).toBeUndefined();
  });

  it.each([
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:10.1.2.3', 'private-10'],
    ['64:ff9b::192.168.1.1', 'private-192'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b:1::8.8.8.8', 'nat64-local'],
    ['2002:808:808::1', '6to4'],
    ['2001:0:808:808::1', 'teredo'],
    ['::8.8.8.8', 'ipv4-compatible'],
    ['1000::1', 'not-global-unicast'],
    ['4000::1', 'not-global-unicast'],
    ['64:ff9b:2::1', 'not-global-unicast'],
    ['fe00::1', 'not-global-unicast'],
  ])('are %s, as %s', (text, id) => {
    expect(specialUseOf(bytesOf(text))?.id).toBe(id);
  });

  it('are what is no address', () => {
    for (const length of [0, 1, 3, 5, 15, 17]) {
      expect(specialUseOf(new Uint8Array(length))).toBeDefined();
      expect(neverAddress(new Uint8Array(length))).toBeDefined();
    }
  });

  it('are all of IPv6 beside 2000::/3, but for the IPv4 addresses in it', () => {
    const seen = { outside: 0, public: 0 };
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const isGlobal = (bytes[0] as number) >> 5 === 1;
        if (!isGlobal) {
          seen.outside++;
          expect(specialUseOf(bytes)).toBeDefined();
        } else if (specialUseOf(bytes) === undefined) seen.public++;
      }),
      { seed: 53, numRuns: 2000 },
    );
    expect(seen.outside).toBeGreaterThan(500);
    expect(seen.public).toBeGreaterThan(100);
  });
});

describe('addresses that are never allowed', () => {
  it.each(neverAllowed.flatMap(({ id, blocks }) => blocks.map((block) => [block, id] as const)))(
    'are those of %s (%s)',
    (block, id) => {
      for (const address of endsOf(block)) expect(neverAddress(address)?.id).toBe(id);
    },
  );

  it.each([
    ...['169.254.169.254', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::1'],
    ...[
      '::169.254.169.254',
      '2001:0:a9fe:a9fe::1',
      '2001:0:808:808:0:0:5601:5601',
      '2002:6464:64c8::',
      '64:ff9b::168.63.129.16',
    ],
    ...[
      'fd00:ec2::254',
      'fd20:ce::254',
      'fd00:42::42',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      '169.254.170.2',
    ],
    ...[
      '0.0.0.0',
      '0.1.2.3',
      '::',
      '255.255.255.255',
      '240.0.0.1',
      '224.0.0.1',
      'ff02::1',
      'fe80::1',
      '::ffff:0.0.0.0',
    ],
  ])('are %s', (text) => {
    expect(neverAddress(bytesOf(text))).toBeDefined();
  });

  it.each(['127.0.0.1', '::1', '10.0.0.1', '100.100.100.201', '192.168.0.1', 'fd00::1', '8.8.8.8', '2002:808:808::1'])(
    'are not %s, which an admin may allow',
    (text) => {
      expect(neverAddress(bytesOf(text))).toBeUndefined();
    },
  );

  it('are not asked for by their names', () => {
    for (const name of ['metadata.google.internal', 'metadata', 'instance-data', 'metadata.tencentyun.com']) {
      expect(neverName(name)).toBeDefined();
    }
    for (const name of ['metadata.example.com', 'example.com', 'google.internal'])
      expect(neverName(name)).toBeUndefined();
  });
});

it('every IPv4 address in an IPv6 one is found, whichever way it is put there', () => {
  const dotted = fc.uint8Array({ minLength: 4, maxLength: 4 }).filter(([first]) => first !== 0);
  const zeros = (count: number) => new Array<number>(count).fill(0);
  fc.assert(
    fc.property(dotted, dotted, (inner, other) => {
      const forms = [
        [...zeros(10), 0xff, 0xff, ...inner],
        [...zeros(12), ...inner],
        [0, 0x64, 0xff, 0x9b, ...zeros(8), ...inner],
        [0x20, 0x02, ...inner, ...zeros(6), ...other],
        [0x20, 0x01, 0, 0, ...inner, ...zeros(4), ...other],
        [0x20, 0x01, 0, 0, ...other, ...zeros(4), ...inner.map((byte) => byte ^ 0xff)],
      ];
      for (const form of forms) expect(embeddedIpv4(Uint8Array.from(form))).toContainEqual(inner);
      expect(embeddedIpv4(inner)).toEqual([]);
      expect(embeddedIpv4(Uint8Array.from([0x26, 0, ...zeros(10), ...inner]))).toEqual([]);
    }),
    { seed: 54, numRuns: 200 },
  );
});
