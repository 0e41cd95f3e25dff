import { describe, expect, it } from 'vitest';
import { readEvents, type ServerEvent } from './event-stream.ts';

const read = async (chunks: Iterable<Uint8Array>): Promise<ServerEvent[]> => {
  const events: ServerEvent[] = [];
  for await (const event of readEvents(chunks)) events.push(event);
  return events;
};

const text = 'event: log\ndata: {"message":"grüße 🎈"}\n\n: still here\n\nevent: result\ndata: {}\n\n';
const events = [
  { event: 'log', data: '{"message":"grüße 🎈"}' },
  { event: 'result', data: '{}' },
];

describe('a stream of events', () => {
  it('gives the same events however its bytes are cut', async () => {
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      expect(await read(chunks)).toEqual(events);
    }
  });

  it('gives no event that is not whole', async () => {
    expect(await read([Buffer.from(text.trimEnd())])).toEqual(events.slice(0, 1));
    expect(await read([])).toEqual([]);
  });

  it('reads a large event in time that grows with its length', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const chunks = [Buffer.from('data: '), ...Array.from({ length: 512 }, () => chunk), Buffer.from('\n\n')];
    const [event] = await read(chunks);
    expect(event?.data).toHaveLength(512 * chunk.length);
  });

  it('refuses an event without end', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const endless = (function* () {
      for (;;) yield chunk;
    })();
    await expect(read(endless)).rejects.toMatchObject({ code: 'RESPONSE_INVALID' });
  });
});
