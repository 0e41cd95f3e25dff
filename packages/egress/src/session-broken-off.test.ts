import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressRecord } from '@glovebox/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { closeDialers } from '../test/dialing.ts';
import { closeOrigins, openHttp1 } from '../test/origins.ts';
import { type CellOptions, closeCells, openCell, until } from '../test/sessions.ts';

afterEach(async () => {
  closeCells();
  closeDialers();
  await closeOrigins();
});

const kib = 1024;

/** A session whose last records take as long to keep as a disk may take. */
async function opened(options: Partial<CellOptions> = {}) {
  const answers: ServerResponse[] = [];
  const records: EgressRecord[] = [];
  const origin = await openHttp1((_request, response) => void answers.push(response));
  const record = async (told: EgressRecord): Promise<void> => {
    records.push(told);
    if (told.outcome !== 'open') await sleep(200);
  };
  const cell = openCell({ port: origin.port, rule: { scheme: 'http' }, record, ...options });
  const stream = cell.open('GET', `http://origin.test:${origin.port}/`);
  stream.end();
  await until(() => answers.length === 1);
  const got = { bytes: 0, end: 'not yet' };
  const read = async (): Promise<void> => {
    try {
      for await (const chunk of stream.body) got.bytes += chunk.byteLength;
      got.end = 'whole';
    } catch {
      got.end = 'broken';
    }
  };
  return { cell, answer: answers[0] as ServerResponse, records, got, read };
}

/** Two chunks of an answer that reach the host in one read. */
function sayTogether(answer: ServerResponse): void {
  answer.flushHeaders();
  answer.socket?.cork();
  answer.write(Buffer.alloc(100));
  answer.write(Buffer.alloc(2000));
  answer.socket?.uncork();
}

describe('what is on record of an answer that breaks off is what the cell has got', () => {
  it.each<[string, Partial<CellOptions>, string]>([
    ['is over the budget', { grant: { maxResponseBytes: 1000 } }, 'over-budget'],
    [
      'is stopped by the screen',
      {
        screen: async function* (body) {
          for await (const chunk of body) {
            if (chunk.byteLength > 1000) throw new Error('stopped');
            yield chunk;
          }
        },
      },
      'failed',
    ],
  ])('where the chunk after one that is on its way %s', async (_, options, outcome) => {
    const { cell, answer, records, got, read } = await opened(options);
    const reading = read();
    sayTogether(answer);
    await reading;
    await cell.session.settled();
    expect(got.end).toBe('broken');
    expect(records.at(-1)).toMatchObject({ outcome, bytesDown: got.bytes });
    expect(got.bytes).toBe(100);
  });

  it('where the origin is lost while a chunk waits for the cell to read', async () => {
    const { cell, answer, records, got, read } = await opened();
    // The window of a stream is 256 KiB.
    for (const size of [60, 60, 60, 60, 30]) {
      answer.write(Buffer.alloc(size * kib));
      await sleep(40);
    }
    answer.destroy();
    await sleep(100);
    await read();
    await cell.session.settled();
    expect(got.end).toBe('broken');
    expect(records.at(-1)).toMatchObject({ outcome: 'failed', bytesDown: got.bytes });
  });
});
