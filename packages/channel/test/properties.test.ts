import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameDecoder } from '../src/decoder.ts';
import { defaultChannelLimits } from '../src/limits.ts';
import { walk } from './walk.ts';
import * as wire from './wire.ts';

const seed = 20_260_101;

/** What a decoder tells, with the parts of each DATA frame put together: how they are cut is not part of the meaning. */
function decode(chunks: Buffer[]): { events: string[]; betweenFrames: boolean } {
  const events: string[] = [];
  let last = '';
  const decoder: FrameDecoder = new FrameDecoder('server', defaultChannelLimits, {
    dataBegins(id, length) {
      last = `DATA ${id} ${length} `;
      events.push(last);
      return undefined;
    },
    data(_, bytes, start, end) {
      events[events.length - 1] += Buffer.from(bytes.subarray(start, end)).toString('hex');
      return undefined;
    },
    frame(type, id, bytes, start, end) {
      events.push(`${type} ${id} ${Buffer.from(bytes.subarray(start, end)).toString('hex')}`);
      return undefined;
    },
  });
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length && !decoder.violation; ) at = decoder.push(chunk, at, decoder.frames + 3);
  }
  if (decoder.violation) events.push(JSON.stringify(decoder.violation));
  return { events, betweenFrames: decoder.betweenFrames };
}

const frame = fc.oneof(
  fc
    .record({ id: fc.nat(20), bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }) })
    .map(({ id, bytes }) => wire.data(2 * id + 1, bytes)),
  fc.record({ id: fc.nat(20), text: fc.string({ maxLength: 80 }) }).map(({ id, text }) => wire.open(2 * id + 1, text)),
  fc.nat(20).map((id) => wire.end(2 * id + 1)),
  fc.nat(20).map((id) => wire.reset(2 * id + 1, 'why')),
  fc.nat(20).map((id) => wire.credit(id === 0 ? 0 : 2 * id + 1, 70_000)),
  fc.constant(wire.hello()),
);

it('any cutting of a byte stream decodes to the same', () => {
  let whole = 0;
  let broken = 0;
  fc.assert(
    fc.property(
      fc.array(frame, { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 30 }),
      fc.option(fc.record({ at: fc.nat(), value: fc.nat(255) }), { freq: 3 }),
      (frames, cuts, flip) => {
        const bytes = Buffer.concat(frames);
        if (flip) bytes[flip.at % bytes.length] = flip.value;
        const places = [0, ...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b);
        const chunks = places.slice(1).map((end, i) => Buffer.from(bytes.subarray(places[i], end)));
        const expected = decode([bytes]);
        expect(decode(chunks)).toEqual(expected);
        expect(decode(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(expected);
        if (expected.events.at(-1)?.startsWith('{')) broken++;
        else whole++;
      },
    ),
    { seed, numRuns: 500 },
  );
  expect(whole).toBeGreaterThan(100);
  expect(broken).toBeGreaterThan(50);
});

it('any interleaving of streams delivers every byte in order, and no credit is exceeded', async () => {
  const sums = { bytes: 0, resets: 0, credits: 0, full: 0 };
  const window = fc.constantFrom(16_384, 20_000, 65_536);
  const limits = fc.record({
    maxStreams: fc.integer({ min: 1, max: 16 }),
    streamWindowBytes: window,
    connectionWindowBytes: window,
    maxFrameBytes: fc.constantFrom(1024, 5000, 65_536),
    maxHeadBytes: fc.constant(1024),
  });
  await fc.assert(
    fc.asyncProperty(fc.nat(), limits, limits, async (walkSeed, client, server) => {
      const { referee, bytes, resets } = await walk(walkSeed, { client, server }, 25);
      sums.bytes += bytes;
      sums.resets += resets;
      sums.credits += referee.client.credits + referee.server.credits;
      if (referee.client.mostInFlight === server.connectionWindowBytes) sums.full++;
      if (referee.server.mostInFlight === client.connectionWindowBytes) sums.full++;
    }),
    { seed, numRuns: 40 },
  );
  // Windows were filled to the last byte, and paid back.
  expect(sums.full).toBeGreaterThan(5);
  expect(sums.credits).toBeGreaterThan(100);
  expect(sums.resets).toBeGreaterThan(20);
  expect(sums.bytes).toBeGreaterThan(1_000_000);
});
