import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { FrameReader } from './frames.ts';

const frame = (stream: number, payload: string, length = Buffer.byteLength(payload)): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(length, 4);
  return Buffer.concat([header, Buffer.from(payload)]);
};

async function readAll(reader: FrameReader, chunks: readonly Buffer[]): Promise<string> {
  const reading = reader.toArray();
  for (const chunk of chunks) reader.write(chunk);
  reader.end();
  return Buffer.concat(await reading).toString();
}

describe('frames of a stream', () => {
  const bytes = Buffer.concat([frame(1, 'hello'), frame(1, ''), frame(1, ' world')]);

  it('give their payload, split at any byte', async () => {
    for (let at = 0; at <= bytes.length; at++) {
      const parts = [bytes.subarray(0, at), bytes.subarray(at)];
      expect(await readAll(new FrameReader('stdout'), parts)).toBe('hello world');
    }
  });

  it('give their payload byte by byte', async () => {
    const parts = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(await readAll(new FrameReader('stdout'), parts)).toBe('hello world');
  });

  it('give what was whole of a stream that ends within one', async () => {
    expect(await readAll(new FrameReader('stderr'), [frame(2, 'half', 100)])).toBe('half');
    expect(await readAll(new FrameReader('stderr'), [frame(2, 'one'), Buffer.from([2, 0, 0])])).toBe('one');
  });

  it('are passed on as they come: a length of four gigabytes holds nothing back and costs nothing', async () => {
    const reader = new FrameReader('stdout');
    reader.write(frame(1, 'now', 2 ** 32 - 1));
    const [chunk] = (await once(reader, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('now');
    expect(reader.readableLength).toBe(0);
    reader.destroy();
  });

  it('are not taken faster than they are read', () => {
    const reader = new FrameReader('stdout');
    let held = 0;
    for (let i = 0; i < 1_000 && reader.write(frame(1, 'x'.repeat(1024))); i++) held++;
    expect(held).toBeLessThan(200);
    reader.destroy();
  });
});

describe('what is no frame of that stream', () => {
  it.each([
    ['another stream', frame(2, 'x')],
    ['an error of the engine', frame(3, 'x')],
    ['bytes that should be zero', Buffer.from([1, 0, 1, 0, 0, 0, 0, 0])],
    ['text', Buffer.from('plain text without any frame')],
  ])('is refused: %s', async (_, chunk) => {
    const reader = new FrameReader('stdout');
    reader.on('error', () => undefined);
    reader.resume();
    reader.write(Buffer.concat([frame(1, 'good'), chunk]));
    await expect(finished(reader)).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
  });
});
