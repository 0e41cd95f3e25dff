import { expect, it } from 'vitest';
import { decodeHello, encodeHello, frameType, headerViolation, writeHeader } from './frame.ts';
import { defaultChannelLimits } from './limits.ts';

it('pins HELLO, byte by byte', () => {
  expect(Buffer.from(encodeHello(defaultChannelLimits)).toString('hex')).toBe(
    [
      '676c6f7665626f78', // glovebox
      '0001', // version
      '0000',
      '00010000', // frame
      '00008000', // head
      '00040000', // stream window
      '00100000', // connection window
      '00000040', // streams
      '000007d0', // opens per second
    ].join(''),
  );
});

it('pins the header, byte by byte, and the numbers of the types', () => {
  const bytes = new Uint8Array(12);
  writeHeader(bytes, 0, frameType.data, 0x01020304, 0xfedc);
  expect(Buffer.from(bytes).toString('hex')).toBe('0000fedc' + '04' + '00' + '0000' + '01020304');
  expect(frameType).toEqual({ hello: 1, open: 2, head: 3, data: 4, end: 5, reset: 6, credit: 7, ping: 8, pong: 9 });
});

it('reads back what it announces', () => {
  const limits = { ...defaultChannelLimits, maxStreams: 3, streamWindowBytes: 64 * 1024 * 1024 };
  expect({ ...decodeHello(encodeHello(limits), 0) }).toEqual(limits);
});

it('takes each type from one side only where it has a direction', () => {
  const judge = (type: number, length: number, id: number, role: 'client' | 'server'): string | undefined => {
    const bytes = new Uint8Array(12);
    writeHeader(bytes, 0, type as 1, id, length);
    return headerViolation(bytes, 0, role, defaultChannelLimits)?.kind;
  };
  const accepted = (role: 'client' | 'server'): number[] =>
    [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((type) => {
      const length = [0, 36, 5, 5, 5, 0, 0, 4, 4, 4][type] as number;
      return judge(type, length, type === 1 || type > 7 ? 0 : 1, role) === undefined;
    });
  expect(accepted('server')).toEqual([1, 2, 4, 5, 6, 7, 9]);
  expect(accepted('client')).toEqual([1, 3, 4, 5, 6, 7, 8]);
});
