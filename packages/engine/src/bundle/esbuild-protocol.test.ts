import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePacket, encodeRequest, type PacketValue } from './esbuild-protocol.ts';

const values = fc.letrec<{ value: PacketValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    fc.string({ unit: 'binary' }),
    fc.uint8Array({ maxLength: 50 }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 5, noNullPrototype: false }),
  ),
})).value;

const plain = (value: PacketValue): PacketValue => {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  return value;
};

describe('the packets of esbuild’s service', () => {
  it('have the bytes that esbuild 0.28.2 reads', () => {
    const packet = encodeRequest(1, { a: [null, true, -1, 'é', new Uint8Array([7])] });
    expect(packet.toString('hex')).toBe(
      [
        '28000000',
        '02000000',
        '0601000000',
        '0100000061',
        '0505000000',
        '00',
        '0101',
        '02ffffffff',
        '0302000000c3a9',
        '040100000007',
      ].join(''),
    );
  });

  it('come back as they were', () => {
    fc.assert(
      fc.property(values, fc.nat(1000), (value, id) => {
        const packet = encodeRequest(id, value);
        expect(packet.readUInt32LE(0)).toBe(packet.length - 4);
        const decoded = decodePacket(packet.subarray(4));
        expect(decoded).toMatchObject({ id, isResponse: false });
        expect(plain(decoded.value)).toEqual(plain(value));
      }),
      { seed: 1 },
    );
  });

  it('that are changed anywhere decode or are refused, and nothing else', () => {
    let refused = 0;
    fc.assert(
      fc.property(
        values,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        (value, changes) => {
          const body = Buffer.from(encodeRequest(0, value).subarray(4));
          for (const [at, byte] of changes) body[at % body.length] = byte;
          try {
            decodePacket(body);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
            refused++;
          }
        },
      ),
      { seed: 2, numRuns: 2000 },
    );
    expect(refused).toBeGreaterThan(200);
  });

  it('are refused before anything is allocated for what they claim', () => {
    for (const hex of ['0100000004ffffffff', '0100000005ffffffff', '0100000006ffffffff', '0100000003ffffff7f']) {
      expect(() => decodePacket(Buffer.from(hex, 'hex'))).toThrow(RangeError);
    }
    const nulls = Buffer.concat([Buffer.from('0100000005ffffff00', 'hex'), Buffer.alloc(0xffffff)]);
    expect(() => decodePacket(nulls)).toThrow(/too many values/);
  });

  it('keep __proto__ as a key, and refuse a key that comes twice', () => {
    const twice = Buffer.from('01000000' + '0602000000' + '010000006100' + '010000006100', 'hex');
    expect(() => decodePacket(twice)).toThrow(/twice/);
    const { value } = decodePacket(
      Buffer.concat([
        Buffer.from('01000000060100000009000000', 'hex'),
        Buffer.from('__proto__'),
        Buffer.from([5, 0, 0, 0, 0]),
      ]),
    );
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as { length?: number }).length).toBeUndefined();
  });
});
