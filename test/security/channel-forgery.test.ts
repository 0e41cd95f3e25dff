import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newAttemptId, newRunId } from '@glovebox/contract';
import { verifyRun } from '@glovebox/engine';
import { describe, expect, it } from 'vitest';
import { forger } from '../support/forger.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const files = { capabilities: { files: { maxBytes: '1KiB' } }, resources: { timeout: '60s' } };

type Answer = { status: number | 'reset'; text: string } | 'closed';

/** A node that asks these, one after the other, and then forges its own result: what was answered. */
async function ask(requests: string[], input: object = {}): Promise<Record<string, Answer>> {
  const lines = requests.map((request) => `answers[${JSON.stringify(request)}] = ask(${request});`).join('\n');
  const body = `const answers = {}; const { other } = ctx.input;\n${lines}\nask('POST', 'http://control.invalid/result', { 'glovebox-result': 'output', 'x-attempt': other?.attempt ?? '' }, JSON.stringify(answers)); for (;;) {}`;
  const result = await cells().run({ top: forger, body, manifest: files }, { input });
  expect(result).toMatchObject({ state: 'SUCCEEDED', error: null });
  return result.output as unknown as Record<string, Answer>;
}

const other = { run: newRunId(), attempt: newAttemptId(), digest: `sha256:${'0'.repeat(64)}` };

describe('a node that speaks to the host past the harness', () => {
  it('gets what its own job grants, and no other job, bundle, file, log or credential', async () => {
    const allowed = [
      `'PUT', 'http://control.invalid/files/own.txt', { 'content-type': 'text/plain' }, 'own'`,
      `'POST', 'http://control.invalid/progress', {}, '{"fraction":0.5}'`,
    ];
    const refused = [
      `'GET', 'http://control.invalid/'`,
      `'GET', 'http://control.invalid/jobs'`,
      `'GET', 'http://control.invalid/job/' + other.attempt`,
      `'GET', 'http://control.invalid//job'`,
      `'GET', 'http://control.invalid/bundle/' + other.digest`,
      `'GET', 'http://control.invalid/bundles'`,
      `'GET', 'http://control.invalid/files/own.txt'`,
      `'GET', 'http://control.invalid/files/'`,
      `'GET', 'http://control.invalid/blobs/' + other.digest`,
      `'GET', 'http://control.invalid/runs/' + other.run`,
      `'GET', 'http://control.invalid/log'`,
      `'GET', 'http://control.invalid/result'`,
      `'GET', 'http://control.invalid/credentials/api'`,
      `'POST', 'http://control.invalid/credentials/api', { authorization: 'Bearer x' }`,
      `'POST', 'http://control.invalid/cancel', {}, '{"reason":"x","graceMs":0}'`,
      `'POST', 'http://control.invalid/job', { 'x-attempt': other.attempt, authorization: 'Bearer ' + other.attempt }`,
      `'POST', 'http://control.invalid/result/' + other.attempt, { 'glovebox-result': 'output' }, '1'`,
      `'PUT', 'http://control.invalid/files/../result', {}, 'x'`,
      `'PUT', 'http://control.invalid/files/%2e%2e%2fx', {}, 'x'`,
      `'PUT', 'http://control.invalid/files//etc/passwd', {}, 'x'`,
      `'PUT', 'http://control.invalid/files/.npmrc', {}, 'x'`,
      `'PUT', 'http://control.invalid/files/a', { 'content-type': 'text/html; charset="x"' }, 'x'`,
      `'PUT', 'http://control.invalid/files/own.txt', {}, 'again'`,
      `'DELETE', 'http://control.invalid/files/own.txt'`,
      `'PATCH', 'http://control.invalid/result'`,
      `'CONNECT', 'http://control.invalid/'`,
      `'GET', 'http://CONTROL.INVALID/job'`,
      `'GET', 'http://control.invalid:80/job'`,
      `'GET', 'http://control.invalid./job'`,
      `'GET', 'http://user@control.invalid/job'`,
      `'GET', 'http://control.invalid.example.com/job'`,
      `'GET', 'http://127.0.0.1/'`,
      `'GET', 'https://example.com/'`,
      `'POST', 'http://169.254.169.254/latest/meta-data'`,
    ];
    const answers = await ask([...allowed, ...refused], { other });
    expect(allowed.map((request) => (answers[request] as { status: number }).status)).toEqual([201, 204]);
    const told = refused.map((request) => [request, answers[request]] as const);
    for (const [request, answer] of told) {
      expect([request, answer]).toEqual([
        request,
        {
          status: expect.toSatisfy((status: number) => status >= 400 && status < 500),
          // A code of the catalogue and nothing else: no path, no name, no id. Or the words of egress.
          text: expect.stringMatching(/^\{"code":"(NOT_FOUND|FILE_NAME_REFUSED)"\}$|"code":"EGRESS_DENIED"/),
        },
      ]);
    }
  });

  it('answers for nobody but itself, also when it knows the ids of another attempt', async () => {
    let ids = (_: { run: string; attempt: string }): void => undefined;
    const known = new Promise<{ run: string; attempt: string }>((resolve) => {
      ids = resolve;
    });
    const victim = cells().run(
      {
        id: 'the-victim',
        body: `ctx.log.info('mine'); await ctx.files.write('mine.txt', 'mine'); await ctx.clock.sleep(4000); return 'mine'`,
        manifest: files,
      },
      { events: { onRun: (both) => ids(both) } },
    );
    const theirs = await known;
    const answers = await ask(
      [
        `'PUT', 'http://control.invalid/files/mine.txt', { 'x-run': other.run, 'x-attempt': other.attempt }, 'forged'`,
        `'POST', 'http://control.invalid/progress', { 'x-attempt': other.attempt }, '{"fraction":1}'`,
        `'GET', 'http://control.invalid/attempts/' + other.attempt + '/job'`,
      ],
      { other: theirs },
    );
    expect(Object.values(answers).map((answer) => (answer as { status: number }).status)).toEqual([201, 204, 404]);
    const result = await victim;
    expect(result).toMatchObject({ run: theirs.run, attempt: theirs.attempt, state: 'SUCCEEDED', output: 'mine' });
    expect(result.logs.map(({ message }) => message)).toEqual(['mine']);
    expect(await result.file('mine.txt')).toBe('mine');
  });

  it('has no token that it could lose: all that it is given is its job', async () => {
    const { output } = await cells().run({
      body: `const all = JSON.stringify({ ctx: Object.keys(ctx), ids: ctx.ids, key: ctx.idempotencyKey, env: process.env, argv: process.argv, execArgv: process.execArgv }); return { ids: ctx.ids, key: ctx.idempotencyKey, secretLike: all.match(/token|secret|bearer|password|[A-Za-z0-9+/]{40,}/gi) ?? [] }`,
    });
    const { ids, key, secretLike } = output as unknown as {
      ids: Record<string, string>;
      key: string;
      secretLike: string[];
    };
    expect(secretLike).toEqual([]);
    expect(Object.keys(ids)).toEqual(['project', 'node', 'run', 'attempt', 'correlation']);
    expect(key).toBe(ids.run);
  });
});

const violations: Record<string, { body: string; state: string }> = {
  'asks for a job again': { body: `tell('GET', 'http://control.invalid/job');`, state: 'CHANNEL_ABUSE' },
  'asks for the bundle again': { body: `tell('GET', 'http://control.invalid/bundle');`, state: 'CHANNEL_ABUSE' },
  'waits for cancel again': {
    body: `for (let i = 0; i < 2; i++) tell('GET', 'http://control.invalid/cancel');`,
    state: 'CHANNEL_ABUSE',
  },
  'says again that it is loaded': { body: `tell('POST', 'http://control.invalid/loaded');`, state: 'CHANNEL_ABUSE' },
  'opens a second log': {
    body: `ctx.log.info('x'); tell('POST', 'http://control.invalid/log', {}, '{}');`,
    state: 'CHANNEL_ABUSE',
  },
  'speaks as the host in its log': {
    body: `tell('POST', 'http://control.invalid/log', {}, '{"source":"host","level":"info","message":"forged"}\\n');`,
    state: 'CHANNEL_CORRUPTED',
  },
  'gives a time of its own in its log': {
    body: `tell('POST', 'http://control.invalid/log', {}, '{"source":"node","level":"info","message":"forged","atMs":0}\\n');`,
    state: 'CHANNEL_CORRUPTED',
  },
  'reports progress that is none': {
    body: `tell('POST', 'http://control.invalid/progress', {}, '{"fraction":2}');`,
    state: 'CHANNEL_ABUSE',
  },
  'gives a result of no kind': {
    body: `tell('POST', 'http://control.invalid/result', {}, '1');`,
    state: 'CHANNEL_ABUSE',
  },
  'gives an error with a field too many': {
    body: `tell('POST', 'http://control.invalid/result', { 'glovebox-result': 'error' }, '{"code":"X","message":"y","state":"SUCCEEDED"}');`,
    state: 'CHANNEL_ABUSE',
  },
  'gives a result that is no JSON': {
    body: `tell('POST', 'http://control.invalid/result', { 'glovebox-result': 'output' }, '{"a":NaN}');`,
    state: 'FAILED',
  },
  'gives a result of numbers past all doubles': {
    body: `tell('POST', 'http://control.invalid/result', { 'glovebox-result': 'output' }, '9007199254740993');`,
    state: 'FAILED',
  },
  'gives a result that is too long': {
    body: `tell('POST', 'http://control.invalid/result', { 'glovebox-result': 'output' }, '"' + 'x'.repeat(2000) + '"');`,
    state: 'OUTPUT_TOO_LARGE',
  },
  'writes garbage': { body: `send(Buffer.from('GET / HTTP/1.1\\r\\n\\r\\n'));`, state: 'CHANNEL_CORRUPTED' },
  'writes a frame of 4 GB': {
    body: `const f = frame(4, 1); f.writeUInt32BE(0xffffffff, 0); send(f);`,
    state: 'CHANNEL_CORRUPTED',
  },
  'writes a greeting again': { body: `send(frame(1, 0, Buffer.alloc(36)));`, state: 'CHANNEL_CORRUPTED' },
  'answers as the host': { body: `send(frame(3, 20001, Buffer.from('[200]')));`, state: 'CHANNEL_CORRUPTED' },
  'gives itself credit': {
    body: `for (let i = 0; i < 100; i++) send(frame(7, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])));`,
    state: 'CHANNEL_(CORRUPTED|ABUSE)',
  },
  'opens more than it may': {
    body: `for (let i = 0; i < 200; i++) send(frame(2, (lastId += 2), Buffer.from('["PUT","http://control.invalid/files/f' + i + '"]')));`,
    state: 'CHANNEL_ABUSE',
  },
  'opens and resets without end': {
    body: `for (let i = 0; i < 20000; i++) { lastId += 2; send(Buffer.concat([frame(2, lastId, Buffer.from('["GET","http://control.invalid/x"]')), frame(6, lastId)])); }`,
    state: 'CHANNEL_ABUSE',
  },
  'sends more than its credit': {
    body: `send(frame(2, (lastId += 2), Buffer.from('["GET","http://control.invalid/cancel"]'))); for (let i = 0; i < 100; i++) send(frame(4, lastId, Buffer.alloc(65536)));`,
    state: 'CHANNEL_(ABUSE|CORRUPTED)',
  },
  'says a header twice': {
    body: `send(frame(2, (lastId += 2), Buffer.from('["GET","http://control.invalid/x","a","1","a","2"]')));`,
    state: 'CHANNEL_CORRUPTED',
  },
  'breaks a line in a header': {
    body: `send(frame(2, (lastId += 2), Buffer.from('["GET","http://control.invalid/x","a","1\\\\r\\\\nb: 2"]')));`,
    state: 'CHANNEL_CORRUPTED',
  },
  // The runtime beside the cell may hold a copy of the descriptor: then the host learns of it at the deadline.
  'closes the channel': { body: `fs.closeSync(3);`, state: 'CHANNEL_CORRUPTED|CRASHED|TIMED_OUT' },
};

const names = Object.keys(violations);
const groups = [names.slice(0, 8), names.slice(8, 16), names.slice(16)];

describe('ends its own attempt and no other, when it', () => {
  it.each(groups.map((group) => [group.join('; '), group] as const))('%s', async (_, group) => {
    const beside = cells().run({
      body: `await ctx.clock.sleep(2000); return 'beside'`,
      manifest: { resources: { timeout: '60s' } },
    });
    const runs = group.map((name) =>
      cells().run({
        top: forger,
        body: `${violations[name]?.body ?? ''} for (;;) {}`,
        manifest: { ...files, resources: { timeout: '8s', output: '1KiB' } },
      }),
    );
    const ended = await Promise.all(runs);
    for (const [i, result] of ended.entries()) {
      const name = group[i] as string;
      expect([name, result.state]).toEqual([name, expect.stringMatching(new RegExp(`^(${violations[name]?.state})$`))]);
      expect([name, result.output, result.error?.message.includes(cells().dataDir)]).toEqual([name, null, false]);
      expect([name, result.logs.filter(({ source }) => source === 'host')]).toEqual([name, []]);
      const { engine, dataDir } = cells();
      const key = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
      const { statement } = await verifyRun(engine, 'default', result.run, [key]);
      expect(statement.predicate.observed.state).toBe(result.state);
      expect(statement.predicate.claimed).toEqual({ errorCode: null, errorMessage: null });
    }
    expect(await beside).toMatchObject({ state: 'SUCCEEDED', output: 'beside' });
  });

  it('writes what nobody can foresee', async () => {
    const seeds = [1, 2, 3, 4];
    const ended = await Promise.all(
      seeds.map((seed) =>
        cells().run(
          {
            top: forger,
            body: `let x = ctx.input.seed; const next = () => (x = (x * 1103515245 + 12345) & 0x7fffffff) >>> 8; for (let i = 0; i < 2000; i++) { const b = Buffer.alloc(1 + (next() % 300)); for (let j = 0; j < b.length; j++) b[j] = next(); send(next() % 2 ? b : frame(next() % 12, next() % 64, b)); } for (;;) {}`,
            manifest: { resources: { timeout: '30s' } },
          },
          { input: { seed } },
        ),
      ),
    );
    for (const { state } of ended) expect(state).toMatch(/^CHANNEL_(CORRUPTED|ABUSE)$/);
  });
});
