import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseAnswer } from './answer.ts';
import { encodeFrame, FrameReader } from './frames.ts';

const limits = { headBytes: 1000, bodyBytes: 1000 };
const misfit = { instancePath: '/a', schemaPath: '/b', message: 'c' };

it('puts frames together from any chunks', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }), fc.uint8Array({ maxLength: 100 })), {
        maxLength: 5,
      }),
      fc.array(fc.integer({ min: 1, max: 50 })),
      (frames, cuts) => {
        const bytes = Buffer.concat(frames.flatMap(([head, body]) => encodeFrame(head, body)));
        const reader = new FrameReader({ headBytes: 100_000, bodyBytes: 100_000 });
        const read = [];
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const size = cuts[cut] ?? 1000;
          read.push(...(reader.push(bytes.subarray(at, at + size)) ?? []));
          at += size;
        }
        expect(read.map(({ head, body }) => [JSON.parse(head.toString()), [...body]])).toEqual(
          frames.map(([head, body]) => [{ ...head }, [...body]]),
        );
      },
    ),
    { seed: 3 },
  );
});

it('refuses a frame over its limits before it has come', () => {
  const lengths = (head: number, body: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32BE(head, 0);
    bytes.writeUInt32BE(body, 4);
    return bytes;
  };
  expect(new FrameReader(limits).push(lengths(1001, 0))).toBeUndefined();
  expect(new FrameReader(limits).push(lengths(0, 1001))).toBeUndefined();
  expect(new FrameReader(limits).push(lengths(2 ** 32 - 1, 2 ** 32 - 1))).toBeUndefined();
  expect(new FrameReader(limits).push(lengths(1000, 1000))).toEqual([]);
});

it.each([
  { kind: 'judged', misfits: [] },
  { kind: 'judged', misfits: [misfit] },
  { kind: 'not-json', faults: [{ reason: 'syntax', path: '', message: 'x' }] },
  { kind: 'too-costly', message: 'x' },
  { kind: 'failed', message: 'x' },
  { kind: 'mapped' },
  {
    kind: 'loaded',
    problems: { input: [], config: [{ rule: 'SCHEMA_UNSUPPORTED', path: '', message: 'x', hint: 'y' }], output: [] },
  },
])('takes the answer %j', (answer) => {
  expect(parseAnswer(Buffer.from(JSON.stringify(answer)))).toEqual(answer);
});

it('takes from an answer only what it asks for', () => {
  const answer = { kind: 'judged', misfits: [{ ...misfit, extra: 1 }], extra: 1 };
  expect(parseAnswer(Buffer.from(JSON.stringify(answer)))).toEqual({ kind: 'judged', misfits: [misfit] });
});

it.each([
  '',
  '{',
  'null',
  '[]',
  '5',
  '{}',
  '{"kind":"other"}',
  '{"kind":"judged"}',
  '{"kind":"judged","misfits":{}}',
  '{"kind":"judged","misfits":[{}]}',
  '{"kind":"judged","misfits":[null]}',
  JSON.stringify({ kind: 'judged', misfits: [{ ...misfit, message: 'x'.repeat(2001) }] }),
  JSON.stringify({ kind: 'judged', misfits: [{ ...misfit, instancePath: 'x'.repeat(20_000) }] }),
  JSON.stringify({ kind: 'judged', misfits: Array.from({ length: 101 }, () => misfit) }),
  '{"kind":"too-costly"}',
  '{"kind":"not-json","faults":[{"reason":1,"path":"","message":""}]}',
  '{"kind":"loaded","problems":{"input":[],"config":[]}}',
  '{"kind":"loaded","problems":{"input":[],"config":[],"output":[{"rule":"OTHER","path":"","message":""}]}}',
])('refuses the answer %.60j', (text) => {
  expect(parseAnswer(Buffer.from(text))).toBeUndefined();
});
