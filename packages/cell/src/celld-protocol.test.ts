import { Readable } from 'node:stream';
import { GloveboxError, newCellId } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import {
  type CelldRequest,
  celldAnswerSchema,
  celldError,
  celldLineBytes,
  celldRequestSchema,
  cellOrderSchema,
  decodeCelldLine,
  encodeCelldLine,
  readLine,
} from './celld-protocol.ts';

const id = newCellId();
const key = '0123456789abcdef'.repeat(2);
const request = { celld: 1, open: 'stream', id, key, stream: 'channel' } as CelldRequest;
const text = encodeCelldLine(request).slice(0, -1);

const decode = (line: string | Uint8Array): CelldRequest =>
  decodeCelldLine(Buffer.from(line as string), celldLineBytes.request, celldRequestSchema);

const codeOf = (action: () => unknown): string => {
  try {
    action();
    return 'none';
  } catch (thrown) {
    return GloveboxError.is(thrown) ? thrown.code : String(thrown);
  }
};

describe('a line', () => {
  it('is read as it was written', () => {
    expect(decode(text)).toEqual(request);
  });

  it.each([
    ['a member twice', text.replace('{', '{"celld":1,')],
    ['a member twice, the second within another spelling', text.replace('"open"', '"\\u006fpen":"cell","open"')],
    ['blanks', text.replace(':', ': ')],
    ['another spelling of a string', text.replace('channel', '\\u0063hannel')],
    ['another spelling of a number', text.replace('"celld":1', '"celld":1.0')],
    ['a number that a double changes', text.replace('"celld":1', '"celld":1e999')],
    ['a word that JSON does not have', text.replace('"celld":1', '"celld":NaN')],
    ['a member that the schema does not have', text.replace('}', ',"mounts":["/"]}')],
    ['__proto__', text.replace('}', ',"__proto__":{"stream":"stdin"}}')],
    ['a byte order mark', `\ufeff${text}`],
    ['a NUL at the end', `${text}\0`],
    ['two values', text + text],
    ['nothing', ''],
    ['null', 'null'],
    ['nesting beyond the limit', '['.repeat(2000) + ']'.repeat(2000)],
    ['another version', text.replace('"celld":1', '"celld":2')],
    ['a key that is too short', text.replace(key, key.slice(1))],
    ['a key in capitals', text.replace(key, key.toUpperCase())],
    ['an id with a path in it', text.replace(id, '../../../etc')],
    ['a stream that no cell has', text.replace('channel', 'fd4')],
  ])('is refused with %s', (_what, line) => {
    expect(codeOf(() => decode(line))).toBe('CELLD_PROTOCOL');
  });

  it('is refused where it is not UTF-8, and where it is too long', () => {
    const bytes = Buffer.from(text);
    bytes[bytes.indexOf('channel')] = 0xff;
    expect(codeOf(() => decode(bytes))).toBe('CELLD_PROTOCOL');
    const long = JSON.stringify({ ...request, more: 'x'.repeat(celldLineBytes.request) });
    expect(codeOf(() => decode(long))).toBe('CELLD_PROTOCOL');
  });

  it('with an order has one order, and a finite number', () => {
    const order = (line: string): unknown =>
      decodeCelldLine(Buffer.from(line), celldLineBytes.request, cellOrderSchema);
    expect(order('{"kill":{"cause":"done"}}')).toEqual({ kill: { cause: 'done' } });
    expect(order('{"dispatch":{"cpu":0.5,"deadlineMs":100}}')).toEqual({ dispatch: { cpu: 0.5, deadlineMs: 100 } });
    const wrong = [
      '{"kill":{"cause":"done"},"dispatch":{"cpu":1,"deadlineMs":1}}',
      '{"kill":{"cause":"oom"}}',
      '{"dispatch":{"cpu":null,"deadlineMs":100}}',
      '{"dispatch":{"cpu":1}}',
      '{}',
    ];
    for (const line of wrong)
      expect(
        codeOf(() => order(line)),
        line,
      ).toBe('CELLD_PROTOCOL');
  });

  it('with an error has no more of it than a person reads, and stays within the limit', () => {
    const error = celldError({
      code: 'RUNTIME_BROKEN',
      message: '\ud83d'.repeat(100_000),
      hint: 'x'.repeat(100_000),
      place: { file: '/etc/passwd' },
      details: { secret: 1 },
    });
    const line = encodeCelldLine({ error });
    expect(Buffer.byteLength(line)).toBeLessThan(celldLineBytes.answer);
    const read = decodeCelldLine(Buffer.from(line.slice(0, -1)), celldLineBytes.answer, celldAnswerSchema);
    expect(read).toEqual({ error });
    expect(Object.keys(error)).toEqual(['code', 'message', 'hint']);
  });
});

describe('reading a line', () => {
  const stream = (...chunks: string[]): Readable =>
    Readable.from(
      chunks.map((chunk) => Buffer.from(chunk)),
      { objectMode: false },
    );

  it('takes it whole from pieces, and leaves what follows', async () => {
    const source = stream('{"a', '":1}', '\nraw bytes', '\n', 'more');
    expect(String(await readLine(source, 100))).toBe('{"a":1}');
    const rest: Buffer[] = [];
    for await (const chunk of source) rest.push(chunk as Buffer);
    expect(String(Buffer.concat(rest))).toBe('raw bytes\nmore');
  });

  it('takes one after the other', async () => {
    const source = stream('one\ntwo\nthr', 'ee\n');
    expect(String(await readLine(source, 10))).toBe('one');
    expect(String(await readLine(source, 10))).toBe('two');
    expect(String(await readLine(source, 10))).toBe('three');
    expect(await readLine(source, 10)).toBeUndefined();
    expect(await readLine(source, 10)).toBeUndefined();
  });

  it('refuses one of a byte too much, with or without its end in sight, and takes one that just fits', async () => {
    expect(String(await readLine(stream('12345\n'), 5))).toBe('12345');
    await expect(readLine(stream('123456\n'), 5)).rejects.toMatchObject({ code: 'CELLD_PROTOCOL' });
    await expect(readLine(stream('123456'), 5)).rejects.toMatchObject({ code: 'CELLD_PROTOCOL' });
  });

  it('refuses one that breaks off', async () => {
    await expect(readLine(stream('1234'), 5)).rejects.toMatchObject({ code: 'CELLD_PROTOCOL' });
  });
});
