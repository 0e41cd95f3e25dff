import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { defineNode } from '@glovebox/sdk';

const block = Buffer.alloc(256 * 1024, 'glovebox');

/** Processor, memory, and files in scratch: what a small node does, some ten milliseconds of it. */
function job(): string {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ key: (i * 7919) % 10_007, name: `n${i}` })));
  const sorted = (JSON.parse(text) as { key: number }[]).sort((a, b) => a.key - b.key);
  writeFileSync('/tmp/job', block);
  const read = readFileSync('/tmp/job');
  rmSync('/tmp/job');
  return createHash('sha256').update(read).update(JSON.stringify(sorted)).digest('hex');
}

/** Until it is told to end: as much processor time, garbage, memory traffic and scratch as one cell can have. */
async function hog(enough: AbortSignal, on: () => void): Promise<object> {
  const kept = Array.from({ length: 64 }, () => Buffer.alloc(1 << 20, 1));
  const from = new Uint32Array(1 << 20);
  on();
  for (let round = 0; !enough.aborted; round++) {
    for (const buffer of kept) buffer.fill(round);
    from.copyWithin(1, 0);
    Array.from({ length: 50_000 }, (_, i) => ({ i }));
    writeFileSync('/tmp/hog', block);
    readFileSync('/tmp/hog');
    await new Promise(setImmediate);
  }
  return {};
}

export default defineNode<{ jobs?: number }, object, object>(async (ctx) => {
  const { jobs } = ctx.input;
  if (jobs === undefined) return hog(ctx.signal, () => ctx.log.info('on'));
  // The first ones are of a program that is not compiled yet.
  for (let i = 0; i < 5; i++) job();
  const takenMs: number[] = [];
  for (let i = 0; i < jobs; i++) {
    const started = performance.now();
    job();
    takenMs.push(performance.now() - started);
  }
  return { takenMs };
});
