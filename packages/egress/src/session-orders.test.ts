import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientStream } from '@glovebox/channel';
import type { EgressRecord } from '@glovebox/contract';
import { afterEach, expect, it } from 'vitest';
import { closeDialers } from '../test/dialing.ts';
import { closeOrigins, openHttp1 } from '../test/origins.ts';
import { closeCells, openCell, until } from '../test/sessions.ts';

afterEach(async () => {
  closeCells();
  closeDialers();
  await closeOrigins();
});

const seed = 20_260_501;
const rounds = 60;

/** Numbers from 0 to below `n`, the same ones each time (mulberry32). */
function randomFrom(start: number): (n: number) => number {
  let state = start;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** A stream that is over, or was ended already, is of no use to whoever goes on with it. */
async function quietly(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch {}
}

it('ends every request once on record, and sends nothing after its end, whatever a cell does in whatever order', async () => {
  const random = randomFrom(seed);
  const bytes = { got: 0 };
  // What each answer is like depends on its path: at once, late, in drops for ever, broken off, large, or never.
  const origin = await openHttp1((request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes.got += chunk.length;
    });
    const act = {
      '/now': () => void response.end('now'),
      '/late': () => void setTimeout(() => response.end('late'), 20),
      '/drops': () => {
        const timer = setInterval(() => response.write('drop'), 5);
        response.once('close', () => clearInterval(timer));
      },
      '/broken': () => void response.write('part', () => response.destroy()),
      '/large': () => void response.end(Buffer.alloc(500_000)),
    }[request.url ?? ''];
    act?.();
  });
  const paths = ['/now', '/late', '/drops', '/broken', '/large', '/never'];
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const kept: EgressRecord[] = [];
    const cell = openCell({
      // Every other time the log is slow: then it ends while decisions wait to be kept.
      record: async (record) => {
        kept.push(record);
        if (round % 2 === 1) await sleep(random(20));
      },
      port: origin.port,
      rule: { scheme: 'http', methods: ['GET', 'PUT'] },
      grant: { maxRequests: 5, maxResponseBytes: 600_000 },
    });
    const streams: ClientStream[] = [];
    const reading: Promise<unknown>[] = [];
    const read = async (stream: ClientStream): Promise<void> => {
      for await (const _ of stream.body) if (random(50) === 0) return;
    };
    for (let step = 0; step < 30; step++) {
      const stream = streams[random(Math.max(1, streams.length))];
      switch (random(6)) {
        case 0:
        case 1: {
          const host = random(6) === 0 ? 'other.test' : 'origin.test';
          const url = `http://${host}:${origin.port}${paths[random(paths.length)]}`;
          streams.push(cell.open(random(2) === 0 ? 'GET' : 'PUT', url));
          break;
        }
        case 2:
          void quietly(() => stream?.write(Buffer.alloc(random(100_000))));
          break;
        case 3:
          void quietly(() => stream?.end());
          break;
        case 4:
          if (stream !== undefined) reading.push(quietly(() => read(stream)));
          break;
        default:
          if (random(3) === 0) stream?.reset('enough');
          else await sleep(random(10));
      }
    }
    cell.session.end();
    await cell.session.settled();
    await Promise.all(reading);
    await until(() => origin.sockets.size === 0);

    const { requests } = cell.session.summary;
    const bySeq = Map.groupBy(kept, ({ seq }) => seq);
    expect([...bySeq.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: requests }, (_, i) => i + 1));
    for (const records of bySeq.values()) {
      const last = records.at(-1)?.outcome ?? '';
      outcomes.add(last);
      expect(records.slice(0, -1).map(({ outcome }) => outcome)).toEqual(records.length === 1 ? [] : ['open']);
      expect(last, `seed ${seed}, round ${round}`).not.toBe('open');
    }
    expect(
      kept.reduce((sum, { bytesDown, outcome }) => sum + (outcome === 'open' ? 0 : bytesDown), 0),
    ).toBeLessThanOrEqual(600_000);
    // What was on its way when it ended may have come; the kernel's own buffers are drained by now.
    const drained = bytes.got;
    await sleep(20);
    expect(bytes.got).toBe(drained);
    cell.close();
  }
  expect([...outcomes].sort()).toEqual(['aborted', 'denied', 'done', 'failed', 'over-budget']);
});
