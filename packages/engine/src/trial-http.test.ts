import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defaultEgressPolicy, type EgressPolicy, type EgressRecord, httpRuleSchema } from '@glovebox/contract';
import type { CellRequest, Egress } from '@glovebox/egress';
import { afterEach, describe, expect, it } from 'vitest';
import { openTrialEgress, type TrialEgress } from './trial-http.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** What the engine of a project has whose admin denies api.test, with an egress that answers by itself. */
function liveParts(respond: (request: CellRequest) => Promise<void>) {
  const logged: EgressRecord[] = [];
  const policy: EgressPolicy = { ...defaultEgressPolicy, denials: [{ id: 'no', host: 'api.test', reason: 'test' }] };
  const egress: Egress = {
    open: () => ({
      accept: respond,
      end: () => undefined,
      settled: async () => undefined,
      summary: { requests: 0, decisions: [] },
    }),
  };
  const parts: TrialEgress['parts'] = {
    egress,
    egressLog: {
      append: async (entries) => void logged.push(...entries.map(({ record }) => record)),
      list: async () => [],
    },
    egressPolicies: {
      get: async () => ({ policy, revision: 1, changedAt: 0, changedBy: 'admin' }),
      set: async () => 'stale',
    },
  };
  return { parts, logged };
}

/** Ask as an attempt of performRun would, with what the trial has put in place. */
async function ask({ parts }: TrialEgress, url: string): Promise<{ status: number | undefined; body: string }> {
  const session = parts.egress.open({
    project: 'p',
    run: 'r',
    attempt: 'a',
    node: 'n',
    grant: {
      rules: [httpRuleSchema.parse({ host: 'api.test', methods: ['GET'], paths: ['/**'] })],
      maxRequests: 10,
      maxResponseBytes: 10_000,
      maxRedirects: 0,
    },
    policy: (await parts.egressPolicies.get('p')).policy,
    deadlineAtBootMs: Number.MAX_SAFE_INTEGER,
    bootMs: () => 0,
    now: () => 0,
    record: (record) => parts.egressLog.append([{ project: 'p', record }]),
  });
  const answer: { status: number | undefined; body: string } = { status: undefined, body: '' };
  await session.accept({
    head: { method: 'GET', url, headers: {} },
    body: (async function* () {})(),
    signal: new AbortController().signal,
    respond: ({ status }) => {
      answer.status = status;
    },
    write: async (chunk) => {
      answer.body += Buffer.from(chunk).toString();
    },
    end: () => undefined,
    reset: () => undefined,
  });
  session.end();
  return answer;
}

const cassette = JSON.stringify({
  schema: 'glovebox.cassette/1',
  entries: [
    { request: { method: 'GET', url: 'https://api.test/a' }, response: { status: 200, body: { text: 'played' } } },
    { request: { method: 'GET', url: 'https://api.test/b' }, response: { status: 200 } },
  ],
});
const files = new Map([['fixtures/api.cassette.json', Buffer.from(cassette)]]);
const never = liveParts(async () => {
  throw new Error('something went to the network');
});

describe('a trial that plays a cassette', () => {
  const replay = (name: string | null = 'api') =>
    openTrialEgress(never.parts, files, { kind: 'replay', cassette: name });

  it('is answered from it alone, under no policy but that of the package, and is not in the log of what left', async () => {
    const trial = replay();
    expect(await ask(trial, 'https://api.test/a')).toEqual({ status: 200, body: 'played' });
    expect(never.logged).toEqual([]);
    expect(trial.parts.egress.source).toBe('cassette');
    expect(never.parts.egress.source).toBeUndefined();
  });

  it('is a warning for what it did not ask for, and an error alone for what is not there', async () => {
    const unused = replay();
    await ask(unused, 'https://api.test/a');
    expect(unused.outcome({ state: 'SUCCEEDED' })).toMatchObject({
      kind: 'replayed',
      findings: [
        {
          rule: 'CASSETTE_UNUSED',
          severity: 'warning',
          message: expect.stringContaining('this run did not ask for 1'),
          place: { file: 'fixtures/api.cassette.json', path: '/entries/1' },
        },
      ],
    });
    expect(unused.outcome({ state: 'FAILED' })).toEqual({ kind: 'replayed', findings: [] });
    const missed = replay();
    expect((await ask(missed, 'https://api.test/c')).status).toBe(403);
    const outcome = missed.outcome({ state: 'SUCCEEDED' });
    expect(outcome).toMatchObject({ kind: 'replayed', findings: [{ rule: 'CASSETTE_MISS', severity: 'error' }] });
    expect(outcome?.kind === 'replayed' && outcome.findings).toHaveLength(1);
    const all = replay();
    for (const path of ['a', 'b']) await ask(all, `https://api.test/${path}`);
    expect(all.outcome({ state: 'SUCCEEDED' })).toEqual({ kind: 'replayed', findings: [] });
  });

  it('without one misses every request, and reaches nothing', async () => {
    const trial = replay(null);
    expect((await ask(trial, 'https://api.test/a')).status).toBe(403);
    expect(trial.outcome({ state: 'FAILED' })).toMatchObject({ findings: [{ rule: 'CASSETTE_MISS' }] });
    expect(replay(null).outcome({ state: 'SUCCEEDED' })).toBeUndefined();
  });

  it('is refused before anything is built where the cassette is not valid or not there', () => {
    expect(() => replay('other')).toThrow(expect.objectContaining({ code: 'CASSETTE_INVALID' }));
    const broken = new Map([['fixtures/api.cassette.json', Buffer.from('{}')]]);
    expect(() => openTrialEgress(never.parts, broken, { kind: 'replay', cassette: 'api' })).toThrow(
      expect.objectContaining({ code: 'CASSETTE_INVALID', place: expect.objectContaining({ path: '/schema' }) }),
    );
  });
});

describe('a trial that is recorded', () => {
  async function record(): Promise<TrialEgress> {
    const server = createServer((_request, response) => response.end('live')).listen(0, '127.0.0.1');
    closers.push(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const { parts } = liveParts(async (request) => {
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      request.respond({ status: answer.status, headers: {} });
      await request.write(new Uint8Array(await answer.arrayBuffer()));
      request.end();
    });
    return openTrialEgress(parts, files, { kind: 'record' });
  }

  it('gives a cassette that plays what was live, under its own policy', async () => {
    const trial = await record();
    expect(await ask(trial, 'https://api.test/a')).toEqual({ status: 200, body: 'live' });
    expect((await trial.parts.egressPolicies.get('p')).revision).toBe(1);
    const outcome = trial.outcome({ state: 'SUCCEEDED' });
    const text = outcome?.kind === 'recorded' ? outcome.text : '';
    const played = openTrialEgress(never.parts, new Map([['fixtures/x.cassette.json', Buffer.from(text)]]), {
      kind: 'replay',
      cassette: 'x',
    });
    expect(await ask(played, 'https://api.test/a')).toEqual({ status: 200, body: 'live' });
  });

  it.each(['FAILED', 'TIMED_OUT', 'CANCELLED', 'LOST'] as const)('gives none where it ended as %s', async (state) => {
    const trial = await record();
    await ask(trial, 'https://api.test/a');
    expect(trial.outcome({ state })).toMatchObject({ kind: 'not-recorded', error: { code: 'CASSETTE_INCOMPLETE' } });
  });
});

describe('any other trial', () => {
  it('has the parts of its engine', async () => {
    const { parts } = liveParts(async (request) => request.respond({ status: 299, headers: {} }));
    const trial = openTrialEgress(parts, files, { kind: 'live' });
    expect((await ask(trial, 'https://api.test/a')).status).toBe(299);
    expect([trial.parts, trial.outcome({ state: 'SUCCEEDED' })]).toEqual([parts, undefined]);
  });
});
