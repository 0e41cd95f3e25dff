import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { attempt, seen } from '../support/hostile-cell/attempt.ts';
import { runHostile } from '../support/hostile-cell/run.ts';
import { floodNames } from '../support/hostile-cell/scenarios.ts';

/*
 * The host's side alone, against a process that speaks to it byte by byte and keeps no rule.
 */
const mib = 1024 * 1024;

it('takes the output of a cell that keeps the rules', async () => {
  const run = await attempt('output', ['{"a":1}']);
  expect(run.report).toMatchObject({ state: 'SUCCEEDED', error: null, outputText: '{"a":1}', files: [] });
});

describe('a flood of', () => {
  it.each(floodNames)('%s frames breaks a rule of the channel', async (kind) => {
    const run = await attempt('flood', [kind]);
    expect(run.report.state).toMatch(/^CHANNEL_(CORRUPTED|ABUSE)$/);
    expect(run.report.outputText).toBeNull();
    expect(run.grownBytes).toBeLessThan(128 * mib);
  });
});

describe('a cell that', () => {
  const badLog = (text: string): string[] => ['1', `${text}\n`];
  it.each<[string, string, string[], string, string]>([
    ['exits after it has asked for its job', 'exit after asking for the job', [], 'CRASHED', 'NODE_EXITED'],
    ['closes the channel', 'close the channel and live on', [], 'CHANNEL_CORRUPTED', 'CHANNEL_CORRUPTED'],
    ['closes every descriptor', 'close everything and live on', [], 'CHANNEL_CORRUPTED', 'CHANNEL_CORRUPTED'],
    ['dies with a backlog of frames', 'leave a backlog and die', [], 'CRASHED', 'NODE_CRASHED'],
    ['gives two results at once', 'output twice', [], 'CHANNEL_ABUSE', 'CHANNEL_ABUSE'],
    ['writes garbage before its result', 'garbage, then output', [], 'CHANNEL_CORRUPTED', 'CHANNEL_CORRUPTED'],
    ['reports more progress than all', 'progress', ['1', '{"fraction":2}'], 'CHANNEL_ABUSE', 'CHANNEL_ABUSE'],
    [
      'reports progress by a prototype',
      'progress',
      ['1', '{"__proto__":{"fraction":1}}'],
      'CHANNEL_ABUSE',
      'CHANNEL_ABUSE',
    ],
    [
      'logs as the host',
      'log',
      badLog('{"source":"host","level":"info","message":"x"}'),
      'CHANNEL_CORRUPTED',
      'CHANNEL_CORRUPTED',
    ],
    ['logs 9,000 open brackets', 'log', badLog('['.repeat(9000)), 'CHANNEL_CORRUPTED', 'CHANNEL_CORRUPTED'],
    ['gives 100,000 open brackets', 'output', ['[', '[', '100000'], 'FAILED', 'OUTPUT_NOT_JSON'],
    ['gives a number that no double holds', 'output', ['9007199254740993'], 'FAILED', 'OUTPUT_NOT_JSON'],
    ['gives more than its limit', 'output', ['"', 'x', '300000', '"'], 'OUTPUT_TOO_LARGE', 'OUTPUT_TOO_LARGE'],
    ['gives what is no UTF-8', 'output of bytes', ['22ff22'], 'FAILED', 'OUTPUT_NOT_JSON'],
    [
      'fails with a code of 200 letters',
      'error',
      ['{"code":"', 'x', '200', '","message":"m"}'],
      'CHANNEL_ABUSE',
      'CHANNEL_ABUSE',
    ],
    ['fails with a code of the host', 'error', ['{"code":"TIMED_OUT","message":"m"}'], 'FAILED', 'NODE_FAILED'],
    [
      'fails with names of Object.prototype',
      'error',
      ['{"code":"constructor","message":"m","details":{"__proto__":{"a":1}}}'],
      'FAILED',
      'constructor',
    ],
  ])('%s ends its own attempt, typed', async (_, scenario, args, state, code) => {
    expect(seen(await attempt(scenario, args))).toEqual([state, code]);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it.each(['exit at once', 'garbage at once'])('does this before it has a job: %s fails to boot', async (scenario) => {
    await expect(runHostile(scenario)).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });
  });

  it.each([
    'silence after the job',
    'endless output',
    'files without end',
    'a frame that stops in the middle',
    'ask for everything and read nothing',
  ])('does this and nothing more: %s ends at its deadline', async (scenario) => {
    const run = await attempt(scenario, [], { timeoutMs: 700, bundle: Buffer.alloc(mib), limits: { filesCount: 60 } });
    expect(seen(run)).toEqual(['TIMED_OUT', 'TIMED_OUT']);
    expect(run.report.files).toEqual([]);
  });

  it('has died keeps the reason of its death, however long its remains take to be removed', async () => {
    const run = await attempt('exit after asking for the job', [], { teardownMs: 2500 });
    expect(seen(run)).toEqual(['CRASHED', 'NODE_EXITED']);
  });

  it('has given its result keeps it, and has no file that was not complete by then', async () => {
    const run = await attempt('output, then progress, log and files');
    expect(run.report).toMatchObject({ state: 'SUCCEEDED', outputText: '1', files: [] });
  });

  it('puts a byte order mark before its output gives no JSON, and one without gives some', async () => {
    // Not stripped: what is kept, hashed and checked are the bytes that came.
    const marked = await attempt('output of bytes', ['efbbbf31']);
    expect(marked.report.outputText).toBe('\ufeff1');
    expect((await attempt('output of bytes', ['31'])).report.outputText).toBe('1');
  });
});

const alone = fileURLToPath(new URL('../support/hostile-cell/alone.ts', import.meta.url));

it.each([
  'output',
  'leave a backlog and die',
  'output, then garbage',
  'files without end',
  'close the channel and live on',
])('once an attempt is over nothing of it keeps the host busy: %s', async (scenario) => {
  const { stdout } = await promisify(execFile)(process.execPath, [alone, scenario, '1'], { env: {} });
  expect(JSON.parse(stdout)).toMatchObject({ held: [] });
});

describe('a cancelled cell', () => {
  it.each(['hear of a cancellation and go on', 'answer a cancellation by an output'])(
    'that does this is dead and cancelled: %s',
    async (scenario) => {
      const run = await attempt(scenario, [], { cancel: { afterRecords: 1, reason: 'by hand' } });
      expect(seen(run)).toEqual(['CANCELLED', 'CANCELLED']);
      expect(run.report.outputText).toBeNull();
    },
  );
});

describe('what a cell logs', () => {
  it('costs its limit also where it is empty', async () => {
    const limits = { logBytes: 16 * 1000 };
    const run = await attempt('log', [5000, '{"source":"node","level":"info","message":""}\n'], { limits });
    expect(run.report).toMatchObject({ state: 'SUCCEEDED', logTruncated: true, logBytes: 0 });
    expect(run.logs.filter(({ source }) => source === 'node')).toHaveLength(1000);
    const few = await attempt('log', [900], { limits });
    expect(few.report.logTruncated).toBe(false);
  });

  it('on fd 1 is a flood also where every line is empty', async () => {
    expect(seen(await attempt('raw', [1, 70 * 16, '', '\n', 65_536]))).toEqual(['LOG_FLOOD', 'LOG_FLOOD']);
    expect(seen(await attempt('raw', [1, 16, '', '\n', 65_536]))).toEqual(['SUCCEEDED', null]);
  });

  it('on fd 1 leaves the host time for others, and rows for 200,000 lines, however short they are', async () => {
    const run = await attempt('raw', [1, 64, '', 'x\n', 32_768], { limits: { logBytes: 16 * mib } });
    expect(run.report.state).toBe('SUCCEEDED');
    expect(run.logs.filter(({ source }) => source === 'stdout')).toHaveLength(200_000);
    expect(run.logs.at(-1)?.message).toBe('log limit of 200000 records reached; the rest is dropped');
    // The most that a stream of Node.js hands over at once.
    expect(run.mostLogsInATurn).toBeLessThanOrEqual(65_536);
  });

  it('is kept as it came, whatever its members are called', async () => {
    const fields = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const run = await attempt('log', [1, `{"source":"node","level":"info","message":"m","fields":${fields}}\n`]);
    expect(JSON.stringify(run.logs[0]?.fields)).toBe(fields);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('what a cell sends costs the host no more than a few times its size', () => {
  const limits = { outputBytes: 16 * mib };

  // To parse one of these with a reviver takes 15 s of processor time and 700 MB, in one turn of the event loop.
  it.each([
    ['numbers', '0,', 8_388_000],
    ['lists', '[],', 5_500_000],
  ])('as an output of millions of %s', async (_, unit, times) => {
    const run = await attempt('output', ['[', unit, times, '0]'], { limits });
    expect(run.report.state).toBe('SUCCEEDED');
    expect(run.grownBytes).toBeLessThan(256 * mib);
  });

  it('as an output that comes a byte at a time', async () => {
    const run = await attempt('output in crumbs', [200_000], { limits });
    expect(run.report.outputText).toHaveLength(200_000);
    expect(run.grownBytes).toBeLessThan(128 * mib);
  });

  it('as fields of a log record', async () => {
    const line = '{"source":"node","level":"info","message":"","fields":[';
    const run = await attempt('log', [14, line, '0,', 250_000, '0]}\n'], { limits: { logBytes: 16 * mib } });
    expect(run.report.state).toBe('SUCCEEDED');
    expect(run.grownBytes).toBeLessThan(256 * mib);
  });

  it('as files that are begun and broken off', async () => {
    const run = await attempt('files broken off', [300], { limits: { filesCount: 10 } });
    expect(run.report).toMatchObject({ state: 'SUCCEEDED', files: [] });
    expect(run.uploads).toBe(40);
  });

  it('as one file name many times at once: one of them is kept', async () => {
    const run = await attempt('one file name many times', [8]);
    expect(run.report.files).toMatchObject([{ name: 'same' }]);
  });
});

describe('what a cell says of how it failed', () => {
  it.each<[string, string, string[], string, { state: string; errorCode: string }]>([
    [
      'a full scratch directory',
      'error',
      ['{"code":"SCRATCH_FULL","message":"m"}'],
      'SCRATCH_FULL',
      { state: 'FAILED', errorCode: 'NODE_FAILED' },
    ],
    [
      'an output that is too large',
      'error',
      ['{"code":"OUTPUT_TOO_LARGE","message":"m"}'],
      'OUTPUT_TOO_LARGE',
      { state: 'FAILED', errorCode: 'NODE_FAILED' },
    ],
    [
      'a full heap',
      'die with last words',
      ['FATAL ERROR: JavaScript heap out of memory\n', '134'],
      'OUT_OF_MEMORY',
      { state: 'CRASHED', errorCode: 'NODE_CRASHED' },
    ],
  ])('is a claim, and not what the host saw: %s', async (_, scenario, args, state, observed) => {
    const { report } = await attempt(scenario, args);
    expect(report).toMatchObject({ state, claimed: true, observed });
  });

  it('is no claim where the host saw it', async () => {
    const { report } = await attempt('output', ['"', 'x', '300000', '"']);
    expect(report).toMatchObject({ claimed: false, observed: { state: 'OUTPUT_TOO_LARGE' } });
  });
});
