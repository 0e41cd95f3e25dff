import { Readable } from 'node:stream';
import type { LogRecord } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { LogIntake, logDigest } from './log-intake.ts';

function intake(limitBytes = 1000, now: () => number = () => 7) {
  const records: LogRecord[] = [];
  const violations: { code: string; detail: string }[] = [];
  const logs = new LogIntake({
    limitBytes,
    now,
    onRecord: (record) => records.push(record),
    onViolation: (v) => violations.push(v),
  });
  return { logs, records, violations };
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

const guestLine = (message: string, extra: object = {}): string =>
  `${JSON.stringify({ source: 'node', level: 'info', message, ...extra })}\n`;

describe('raw output', () => {
  it('becomes one record a line, whatever the chunks', async () => {
    const { logs, records } = intake();
    const bytes = Buffer.from('först\nzweite Zeile\r\nrest');
    await logs.takeRaw('stderr', Readable.from([bytes.subarray(0, 2), bytes.subarray(2, 9), bytes.subarray(9)]));
    expect(records.map(({ message, source, level }) => [message, source, level])).toEqual([
      ['först', 'stderr', 'warn'],
      ['zweite Zeile', 'stderr', 'warn'],
      ['rest', 'stderr', 'warn'],
    ]);
  });

  it('cuts a line that does not end and keeps no more than the limit', async () => {
    const { logs, records } = intake(100_000);
    await logs.takeRaw('stdout', Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(10_000, 'x'))));
    const kept = records.filter(({ source }) => source === 'stdout');
    expect(Math.max(...kept.map(({ message }) => message.length))).toBe(16 * 1024);
    expect(logs.keptBytes).toBeLessThanOrEqual(100_000);
    expect(logs.truncated).toBe(true);
    expect(records.filter(({ source }) => source === 'host')).toHaveLength(1);
  });

  it('is a flood 64 MiB past the limit, and not before', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'y');
    const calm = intake();
    await calm.logs.takeRaw('stdout', Readable.from(Array.from({ length: 60 }, () => chunk)));
    expect(calm.violations).toEqual([]);
    const flood = intake();
    await flood.logs.takeRaw('stdout', Readable.from(Array.from({ length: 70 }, () => chunk)));
    expect(flood.violations.map(({ code }) => code)).toEqual(['LOG_FLOOD']);
  });
});

it('counts a record for 16 bytes at least, whoever says it', async () => {
  const raw = intake(1600);
  await raw.logs.takeRaw('stdout', Readable.from([Buffer.from('x\n'.repeat(500))]));
  expect(raw.records.filter(({ source }) => source === 'stdout')).toHaveLength(100);
  const stream = intake(1600);
  await stream.logs.takeStream(chunks(guestLine('').repeat(500)));
  expect(stream.records.filter(({ source }) => source === 'node')).toHaveLength(100);
  expect([raw.logs.keptBytes, stream.logs.keptBytes]).toEqual([100, 0]);
  const long = intake(1600);
  await long.logs.takeStream(chunks(guestLine('x'.repeat(800)), guestLine('x'.repeat(800))));
  expect([long.logs.keptBytes, long.logs.truncated]).toEqual([1600, false]);
});

it('is flooded by empty lines too, and gives the host a turn between chunks', async () => {
  const chunk = Buffer.alloc(1024 * 1024, '\n');
  let turns = 0;
  const counting = (): void => {
    turns++;
    timer = setImmediate(counting);
  };
  let timer = setImmediate(counting);
  const { logs, records, violations } = intake();
  await logs.takeRaw('stdout', Readable.from(Array.from({ length: 66 }, () => chunk)));
  clearImmediate(timer);
  expect(records).toEqual([]);
  expect(violations.map(({ code }) => code)).toEqual(['LOG_FLOOD']);
  expect(turns).toBeGreaterThanOrEqual(65);
});

describe('the log stream', () => {
  it('carries records with fields, over any chunk border', async () => {
    const { logs, records, violations } = intake();
    const text = guestLine('a', { fields: { n: 1 } }) + guestLine('b');
    await logs.takeStream(chunks(text.slice(0, 11), text.slice(11, 70), text.slice(70)));
    expect(violations).toEqual([]);
    expect(records).toEqual([
      { atMs: 7, source: 'node', level: 'info', message: 'a', fields: { n: 1 } },
      { atMs: 7, source: 'node', level: 'info', message: 'b' },
    ]);
  });

  it.each([
    ['a line that is no JSON', 'nonsense\n'],
    ['an unknown field', guestLine('a', { atMs: 1 })],
    ['the source of the host', `${JSON.stringify({ source: 'host', level: 'info', message: 'm' })}\n`],
    [
      'nesting without end',
      `{"source":"node","level":"info","message":"m","fields":${'['.repeat(5000)}${']'.repeat(5000)}}\n`,
    ],
  ])('ends the attempt on %s', async (_name, text) => {
    const { logs, records, violations } = intake();
    await logs.takeStream(chunks(text));
    expect(records).toEqual([]);
    expect(violations.map(({ code }) => code)).toEqual(['CHANNEL_CORRUPTED']);
  });

  it('is not read any more once it is full, but counted', async () => {
    const full = intake(1000);
    await full.logs.takeStream(chunks(guestLine('x'.repeat(1001)), 'nonsense\n'));
    expect([full.logs.truncated, full.violations]).toEqual([true, []]);
    const calm = intake(1000);
    await calm.logs.takeStream(chunks(guestLine('x'.repeat(900)), 'nonsense\n'));
    expect(calm.violations.map(({ code }) => code)).toEqual(['CHANNEL_CORRUPTED']);
  });

  it('is abused by more than 1 MiB/s after its burst, and carries 1 MiB/s for ever', async () => {
    const line = guestLine('z'.repeat(60_000));
    let nowMs = 0;
    const steady = intake(1000, () => nowMs);
    await steady.logs.takeStream(
      (async function* () {
        for (let i = 0; i < 600; i++) {
          nowMs += 100;
          yield Buffer.from(line);
        }
      })(),
    );
    expect(steady.violations).toEqual([]);
    const hasty = intake(1000, () => 0);
    await hasty.logs.takeStream(chunks(...Array.from({ length: 300 }, () => line)));
    expect(hasty.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
  });
});

it('has a digest that the stored records give again', async () => {
  const { logs, records } = intake();
  await logs.takeStream(chunks(guestLine('a', { fields: { z: 1, a: [null] } })));
  logs.remark('warn', 'host speaks');
  expect(logDigest(JSON.parse(JSON.stringify(records)))).toBe(logs.digest());
  expect(logDigest(records.slice(1))).not.toBe(logs.digest());
});
