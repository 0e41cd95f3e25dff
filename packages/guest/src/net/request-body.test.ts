import { expect, it } from 'vitest';
import { RequestBody } from './request-body.ts';
import type { Framing } from './request-head.ts';

/** Feed `text` in pieces of `size`, as sockets would. @returns the body, how it ended, and what was left of the bytes. */
function read(framing: Framing, text: string, size: number): [string, string, string] {
  const body = new RequestBody(framing);
  let rest = Buffer.alloc(0);
  let got = '';
  for (let at = 0; at <= text.length; at += size) {
    rest = Buffer.concat([rest, Buffer.from(text.slice(at, at + size), 'latin1')]);
    for (;;) {
      const { step, used } = body.next(rest);
      rest = rest.subarray(used);
      if (step.kind === 'data') got += step.bytes.toString('latin1');
      else if (step.kind === 'more') break;
      else return [got, step.kind, rest.toString('latin1') + text.slice(at + size)];
    }
  }
  return [got, 'more', rest.toString('latin1')];
}
const chunked = (): Framing => ({ kind: 'chunked' });

it('ends where the length says, in whatever pieces it comes', () => {
  for (const size of [1, 2, 3, 100])
    expect(read({ kind: 'length', left: 5 }, 'helloGET /', size)).toEqual(['hello', 'end', 'GET /']);
  expect(read({ kind: 'none' }, 'GET /', 1)).toEqual(['', 'end', 'GET /']);
  expect(read({ kind: 'length', left: 5 }, 'hell', 2)).toEqual(['hell', 'more', '']);
});

it('joins chunks, drops extensions and trailers, and leaves what follows', () => {
  const text = '5;a=b\r\nhello\r\n0b\r\n world\r\n12!\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\nGET /';
  for (const size of [1, 2, 3, 7, 1000])
    expect(read(chunked(), text, size)).toEqual(['hello world\r\n12!', 'end', 'GET /']);
});

it('stops at what is no chunk', () => {
  for (const text of [
    'x\r\n',
    '-1\r\n',
    '0x5\r\n',
    '5\r\nhelloX\r\n',
    '\r\n',
    '5 5\r\n',
    `${'1'.repeat(14)}\r\n`,
    `1;${'x'.repeat(2000)}`,
  ]) {
    expect([text.slice(0, 20), read(chunked(), text, 50)[1]]).toEqual([text.slice(0, 20), 'broken']);
  }
});
