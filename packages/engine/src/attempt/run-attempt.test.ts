import { once } from 'node:events';
import { type Duplex, duplexPair, PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Cell, CellEnd } from '@glovebox/cell';
import { type ClientStream, connectClient } from '@glovebox/channel';
import { defaultEgressPolicy, GloveboxError, newAttemptId, newRunId, type Progress } from '@glovebox/contract';
import { createEgress, type Egress, type SessionOptions } from '@glovebox/egress';
import { describe, expect, it, vi } from 'vitest';
import { runAttempt } from './run-attempt.ts';

const never = (): never => {
  throw new Error('not asked for');
};

/** A cell in this process: its death, its output and its end of the channel are the test's to choose. */
function started(signal?: AbortSignal, egress: Egress = createEgress({ scope: never }), timeoutMs = 1000) {
  const [hostEnd, cellEnd] = duplexPair();
  const stdout = new PassThrough();
  const died = Promise.withResolvers<CellEnd>();
  const kills: string[] = [];
  const progress: Progress[] = [];
  const cell: Cell = {
    id: 'cell_x' as Cell['id'],
    facts: { driver: 'test', runtime: 'none', runtimeVersion: '0', planHash: '', properties: [], acceptedRisks: [] },
    channel: hostEnd,
    stdout,
    stderr: PassThrough.from([]),
    stdin: null,
    dispatch: async () => undefined,
    kill: (cause) => kills.push(cause),
    ended: died.promise,
  };
  const report = runAttempt(
    {
      plan: {} as never,
      bundle: Buffer.from('1'),
      egress: { grant: undefined, policy: defaultEgressPolicy, record: async () => undefined },
      cpu: 1,
      timeoutMs,
      job: {
        ids: { project: 'p', run: newRunId(), attempt: newAttemptId(), node: 'n', correlation: 'c' },
        nowMs: 0,
        timeoutMs: 0,
        bundle: { digest: `sha256:${'0'.repeat(64)}`, sizeBytes: 1 },
        limits: { outputBytes: 100, logBytes: 1000, filesBytes: 0, filesCount: 0, scratchBytes: 0 },
        http: false,
        idempotencyKey: 'k',
        input: null,
        config: null,
      },
    },
    {
      driver: { name: 'test', boot: async () => cell, inspect: never, sweep: never, gauges: never },
      blobs: { put: never, read: never },
      egress,
      now: Date.now,
      monotonicMs: () => performance.now(),
      bootMs: () => 5000,
    },
    { onProgress: (report) => progress.push(report) },
    signal,
  );
  const die = (more: Partial<CellEnd> = {}): void =>
    died.resolve({
      cause: 'self',
      exit: { code: 5, signal: null },
      pidsLimitHit: false,
      peakMemoryBytes: null,
      peakPids: null,
      teardownMs: 0,
      ...more,
    });
  return { report, cellEnd, stdout, kills, progress, die };
}

interface Voice {
  /** Open a request. */
  open(method: string, path: string, headers?: Record<string, string>): ClientStream;
  write(bytes: Uint8Array): void;
}

/** The cell's end of the channel, once the job is there. */
async function dispatched(cellEnd: Duplex): Promise<Voice> {
  const client = connectClient(cellEnd);
  const open: Voice['open'] = (method, path, headers = {}) => {
    const stream = client.open({ method, url: `http://control.invalid${path}`, headers });
    stream.response.catch(() => undefined);
    return stream;
  };
  const job = open('GET', '/job');
  job.end();
  await job.response;
  return { open, write: (bytes) => void cellEnd.write(bytes) };
}

/** Something that a cell or its user begins, and how it goes on. */
type Act = (cell: Voice, cancel: AbortController) => () => void;
const acts: Record<string, Act> = {
  'a result': ({ open }) => {
    const stream = open('POST', '/result', { 'glovebox-result': 'output' });
    void stream.write(Buffer.from('1'));
    return () => stream.end();
  },
  'a second request for the job':
    ({ open }) =>
    () =>
      open('GET', '/job').end(),
  'a progress report': ({ open }) => {
    const stream = open('POST', '/progress');
    void stream.write(Buffer.from('{"fraction":'));
    return () => {
      void stream.write(Buffer.from('1}'));
      stream.end();
    };
  },
  'a log record that is none': ({ open }) => {
    const stream = open('POST', '/log');
    return () => void stream.write(Buffer.from('nonsense\n'));
  },
  garbage:
    ({ write }) =>
    () =>
      write(Buffer.alloc(64, 0xff)),
  'a cancellation': (_, cancel) => () => cancel.abort('by hand'),
};

const turns = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await turn();
};

it.each(Object.entries(acts))('takes %s no more from a cell that is dead', async (_, act) => {
  const cancel = new AbortController();
  const { report, cellEnd, stdout, kills, progress, die } = started(cancel.signal);
  const goOn = act(await dispatched(cellEnd), cancel);
  await turns();
  die();
  await turns();
  goOn();
  await turns();
  stdout.end();
  expect(await report).toMatchObject({ state: 'CRASHED', error: { code: 'NODE_EXITED' }, outputText: null });
  expect({ kills, progress }).toEqual({ kills: [], progress: [] });
});

it.each([
  ['a result', 'SUCCEEDED'],
  ['a second request for the job', 'CHANNEL_ABUSE'],
  ['a log record that is none', 'CHANNEL_CORRUPTED'],
  ['garbage', 'CHANNEL_CORRUPTED'],
  ['a cancellation', 'CANCELLED'],
  ['a progress report', 'CRASHED'],
])('takes %s from one that lives', async (name, state) => {
  const cancel = new AbortController();
  const { report, cellEnd, stdout, progress, die } = started(cancel.signal);
  (acts[name] as Act)(await dispatched(cellEnd), cancel)();
  await turns();
  die();
  stdout.end();
  expect((await report).state).toBe(state);
  expect(progress).toHaveLength(name === 'a progress report' ? 1 : 0);
});

it('delivers no output of a cell that the driver could not confirm dead, and tells what the driver says of it', async () => {
  const message = 'A cell could not be confirmed dead: cell_x';
  const endings: [Partial<CellEnd>, object][] = [
    [
      { cause: 'done', error: { code: 'CELL_LOST', message } },
      { state: 'LOST', outputText: null },
    ],
    [{ cause: 'done' }, { state: 'SUCCEEDED', outputText: '1', error: null }],
  ];
  for (const [end, outcome] of endings) {
    const { report, cellEnd, stdout, kills, die } = started();
    acts['a result']?.(await dispatched(cellEnd), new AbortController())();
    await turns();
    expect(kills).toEqual(['done']);
    die(end);
    stdout.end();
    const { observed, ...rest } = await report;
    expect(rest).toMatchObject(outcome);
    expect(observed.state).toBe(rest.state);
    if (rest.error !== null)
      expect(rest.error).toMatchObject({ code: 'CELL_LOST', message: expect.stringContaining(message) });
  }
});

it('leaves no timer that acts on a cell which is dead, though its channel is still open', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { report, cellEnd, stdout, kills, die } = started();
    await dispatched(cellEnd);
    die();
    stdout.end();
    await report;
    cellEnd.destroy();
    await once(cellEnd, 'close');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(kills).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

it('kills a cell that does not ask for its job within its time to boot, and none that has', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const silent = started();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(silent.kills).toEqual(['violation']);
    silent.die();
    silent.stdout.end();
    silent.cellEnd.destroy();
    await expect(silent.report).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });

    const up = started();
    await dispatched(up.cellEnd);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(up.kills).toEqual([]);
    up.die();
    up.stdout.end();
    up.cellEnd.destroy();
    await up.report;
  } finally {
    vi.useRealTimers();
  }
});

describe('the egress of an attempt', () => {
  /** Tells in which order things come. */
  function observed(over: Partial<ReturnType<Egress['open']>> = {}) {
    const seen = { order: [] as string[], options: undefined as SessionOptions | undefined };
    const egress: Egress = {
      open(options) {
        seen.options = options;
        return {
          accept: async (request) => {
            seen.order.push(`accept ${request.head.url}`);
            request.reset('seen');
          },
          end: () => seen.order.push('end'),
          settled: async () => void seen.order.push('settled'),
          summary: { requests: 3, decisions: [] },
          ...over,
        };
      },
    };
    return { seen, egress };
  }

  it('has the deadline of the cell, counted by the boot clock from the dispatch', async () => {
    const { seen, egress } = observed();
    const { cellEnd, stdout, die, report } = started(undefined, egress, 700);
    await dispatched(cellEnd);
    expect(seen.options).toMatchObject({ project: 'p', node: 'n', grant: undefined, deadlineAtBootMs: 5700 });
    die();
    stdout.end();
    expect(await report).toMatchObject({ egressRequests: 3, egressDecisions: [] });
  });

  it.each(['a result', 'a second request for the job'])(
    'ends before the cell is killed for %s, and has settled before the report',
    async (name) => {
      const { seen, egress } = observed();
      const { cellEnd, stdout, kills, die, report } = started(undefined, egress);
      const { push } = kills;
      kills.push = (cause) => {
        seen.order.push('kill');
        return push.call(kills, cause);
      };
      const goOn = (acts[name] as Act)(await dispatched(cellEnd), new AbortController());
      await turns();
      goOn();
      await turns();
      expect([seen.order[0], seen.order.indexOf('kill') > 0]).toEqual(['end', true]);
      die();
      stdout.end();
      await report.then(() => seen.order.push('report'));
      expect(seen.order.slice(-2)).toEqual(['settled', 'report']);
    },
  );

  it('ends before the cell is killed at the end of the grace that a cancellation leaves it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { seen, egress } = observed();
      const cancel = new AbortController();
      const { cellEnd, stdout, kills, die, report } = started(cancel.signal, egress);
      const { push } = kills;
      kills.push = (cause) => {
        seen.order.push('kill');
        return push.call(kills, cause);
      };
      await dispatched(cellEnd);
      cancel.abort('by hand');
      await vi.advanceTimersByTimeAsync(1999);
      expect(seen.order).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(seen.order).toEqual(['end', 'kill']);
      die();
      stdout.end();
      await report;
    } finally {
      vi.useRealTimers();
    }
  });

  it('fails the attempt when its records were not kept, once the cell is dead', async () => {
    const lost = new GloveboxError('DISK_FULL');
    const { egress } = observed({ settled: () => Promise.reject(lost) });
    const { cellEnd, stdout, die, report } = started(undefined, egress);
    acts['a result']?.(await dispatched(cellEnd), new AbortController())();
    await turns();
    die({ cause: 'done' });
    stdout.end();
    await expect(report).rejects.toBe(lost);
  });

  it('that cannot be opened fails the attempt before the node has its job', async () => {
    const invalid = new GloveboxError('EGRESS_POLICY_INVALID');
    const egress: Egress = {
      open: () => {
        throw invalid;
      },
    };
    const { cellEnd, stdout, kills, die, report } = started(undefined, egress);
    const client = connectClient(cellEnd);
    const job = client.open({ method: 'GET', url: 'http://control.invalid/job', headers: {} });
    job.end();
    const answer = job.response.then(
      () => 'answered',
      () => 'reset',
    );
    await turns();
    expect(kills).toEqual(['violation']);
    die({ cause: 'violation' });
    stdout.end();
    await expect(report).rejects.toBe(invalid);
    expect(await answer).toBe('reset');
  });

  it('is asked for nothing before the job is dispatched', async () => {
    const { seen, egress } = observed();
    const { cellEnd, stdout, kills, die, report } = started(undefined, egress);
    const early = connectClient(cellEnd).open({ method: 'GET', url: 'https://a.test/', headers: {} });
    early.response.catch(() => undefined);
    await turns();
    expect([seen.order, kills]).toEqual([[], ['violation']]);
    die({ cause: 'violation' });
    stdout.end();
    await expect(report).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });
  });

  it("is asked for what is not the control plane's", async () => {
    const { seen, egress } = observed();
    const { cellEnd, stdout, die, report } = started(undefined, egress);
    const client = connectClient(cellEnd);
    const job = client.open({ method: 'GET', url: 'http://control.invalid/job', headers: {} });
    job.end();
    await job.response;
    const stream = client.open({ method: 'GET', url: 'https://a.test/', headers: {} });
    await expect(stream.response).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    expect(seen.order).toEqual(['accept https://a.test/']);
    die();
    stdout.end();
    await report;
  });
});
