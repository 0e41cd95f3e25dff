import { describe, expect, it } from 'vitest';
import { EventQueue } from './event-queue.ts';

const log = (message: string) => ({ event: 'log', record: { message } });
/** As characters of a message: far beyond what a slow reader may be behind. */
const mebibyte = 'x'.repeat(1024 * 1024);

const readAll = async (queue: EventQueue): Promise<string> => {
  let text = '';
  for await (const chunk of queue) text += Buffer.from(chunk).toString();
  return text;
};
const namesIn = (text: string): string[] => [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name as string);

describe('events on their way to a reader', () => {
  it('come in order, and the last one ends the stream', async () => {
    const queue = new EventQueue(() => undefined);
    queue.push({ event: 'accepted', operation: 'op_1' });
    setTimeout(() => {
      queue.push(log('a\nb'));
      queue.end({ event: 'result', result: { done: true } });
      queue.push(log('too late'));
    }, 5);
    expect(await readAll(queue)).toBe(
      'event: accepted\ndata: {"event":"accepted","operation":"op_1"}\n\n' +
        'event: log\ndata: {"event":"log","record":{"message":"a\\nb"}}\n\n' +
        'event: result\ndata: {"done":true}\n\n',
    );
  });

  it('cost a bounded amount where nobody reads: logs are counted, what must be told is not left out', async () => {
    const queue = new EventQueue(() => undefined);
    for (let i = 0; i < 20; i++) queue.push(log(mebibyte));
    queue.push({ event: 'run', run: 'r' });
    queue.end({ event: 'result', result: {} });
    const text = await readAll(queue);
    expect(text.length).toBeLessThan(10 * mebibyte.length);
    expect(namesIn(text).filter((name) => name !== 'log')).toEqual(['skipped', 'run', 'result']);
    expect(text).toContain(`"events":${20 - namesIn(text).filter((name) => name === 'log').length}}`);
  });

  it('wait for a slow reader where they can, and then none is left out', async () => {
    const queue = new EventQueue(() => undefined);
    let written = 0;
    const writing = (async () => {
      for (; written < 20; written++) await queue.write(log(mebibyte));
      queue.end();
    })();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(written).toBeLessThan(9);
    expect(namesIn(await readAll(queue))).toEqual(Array.from({ length: 20 }, () => 'log'));
    await writing;
  });

  it('tell when the reader goes, once, and let nobody wait', async () => {
    let left = 0;
    const queue = new EventQueue(() => left++);
    for (let i = 0; i < 10; i++) queue.push(log(mebibyte));
    const waiting = queue.write(log('more'));
    for await (const _ of queue) break;
    await waiting;
    expect(left).toBe(1);
    queue.push(log('unheard'));
    await queue.write(log('unheard'));
    for await (const _ of queue) break;
    expect(left).toBe(1);
  });

  it('tell nothing of a reader that came to the end', async () => {
    let left = 0;
    const queue = new EventQueue(() => left++);
    queue.end({ event: 'result', result: {} });
    await readAll(queue);
    expect(left).toBe(0);
  });
});
