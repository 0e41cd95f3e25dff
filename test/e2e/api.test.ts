import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient, type StreamEvent } from '@glovebox/client';
import type { Snapshot } from '@glovebox/contract';
import { roles } from '@glovebox/contract/routes';
import { type App, createApp } from '@glovebox/server';
import { readSnapshotDir } from '@glovebox/validate';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type NodeSource, writeNode } from '../support/node-package.ts';
import { useEngine } from '../support/use-engine.ts';

vi.setConfig({ testTimeout: 120_000 });

const cells = useEngine();
const params = { project: 'default' };
let app: App;
/** Without the classes of the web platform, and with them, as over a connection. */
let clients: { inProcess: Client; overFetch: Client };
let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-api-'));
  const { engine } = cells();
  app = createApp({ open: async () => engine, principal: { name: 'local:uid=0', roles } });
  const baseUrl = 'http://glovebox.invalid';
  clients = {
    inProcess: createClient({ baseUrl, fetch: app.inProcess }),
    overFetch: createClient({ baseUrl, fetch: (url, init) => app.fetch(new Request(url, init)) }),
  };
});
afterAll(async () => {
  await app.settled();
  rmSync(dir, { recursive: true, force: true });
});

let uploads = 0;
async function upload(source: NodeSource): Promise<Snapshot> {
  const taken = await readSnapshotDir(await writeNode(join(dir, `node-${uploads++}`), source));
  if (!taken.ok) throw new Error(JSON.stringify(taken.findings));
  return {
    files: [...taken.files].map(([path, bytes]) => ({ path, contentBase64: Buffer.from(bytes).toString('base64') })),
  };
}

const values = (input: unknown = {}) => ({ inputText: JSON.stringify(input), configText: '{}' });
const waiting: NodeSource = {
  body: `
    ctx.signal.addEventListener('abort', () => ctx.log.info('told ' + ctx.signal.reason.message));
    ctx.log.info('waiting');
    await ctx.clock.sleep(600_000);`,
  manifest: { resources: { timeout: '600s' } },
};
type TrialEvent = StreamEvent<'trials.run'>;
const isLog = (event: TrialEvent, message: string): boolean =>
  event.event === 'log' && event.record.message === message;
const stateOf = async (run: string) =>
  (await clients.inProcess.call('runs.get', { params: { ...params, run } })).attempts.at(-1)?.state;

describe.each(['inProcess', 'overFetch'] as const)('a trial by upload, %s', (kind) => {
  it('tells its steps, its run and its logs in order, and ends with what is recorded', async () => {
    const snapshot = await upload({
      body: `ctx.log.info('hello', { __proto__: 1, n: 2 }); ctx.progress(0.5, 'half'); return { got: ctx.input, '__proto__x': 1 };`,
    });
    const events: TrialEvent[] = [];
    const inputText = '{"a":1.0, "__proto__":{"b":[1e2]}}';
    for await (const event of clients[kind].stream('trials.run', {
      params,
      body: { snapshot, inputText, configText: '{}' },
    }))
      events.push(event);
    const steps = events.map((event) => (event.event === 'step' ? event.step : event.event));
    expect(steps).toEqual(expect.arrayContaining(['read', 'check', 'run', 'log', 'progress', 'result']));
    expect(steps.indexOf('boot')).toBeLessThan(steps.indexOf('load'));
    const last = events.at(-1);
    if (last?.event !== 'result') throw new Error('no result');
    const { result } = last;
    expect(result.state).toBe('SUCCEEDED');
    expect(JSON.stringify(result.output)).toBe('{"got":{"a":1,"__proto__":{"b":[100]}},"__proto__x":1}');
    const { run, attempts } = await clients[kind].call('runs.get', { params: { ...params, run: result.run } });
    expect(run).toMatchObject({ inputText, actor: 'local:uid=0', mode: 'trial' });
    expect(attempts.at(-1)?.end?.receiptDigest).toBe(result.receiptDigest);
    const verified = await clients[kind].call('runs.verify', { params: { ...params, run: result.run }, body: {} });
    expect(verified.statement.predicate.run).toBe(result.run);
  });

  it('winds up when it is asked to: the node hears why, and the stream goes on to its end', async () => {
    const windUp = new AbortController();
    const body = { snapshot: await upload(waiting), ...values() };
    const messages: string[] = [];
    let state: string | undefined;
    for await (const event of clients[kind].stream('trials.run', { params, body, windUp: windUp.signal })) {
      if (event.event === 'log') messages.push(event.record.message);
      if (event.event === 'log') windUp.abort('no longer wanted');
      if (event.event === 'result') state = event.result.state;
    }
    expect({ state, messages }).toEqual({ state: 'CANCELLED', messages: ['waiting', 'told no longer wanted'] });
  });

  it('winds up before it has a run: nothing is recorded', async () => {
    const windUp = AbortSignal.abort('too late');
    const body = { snapshot: await upload({ id: `never-${kind.toLowerCase()}`, body: 'return 1' }), ...values() };
    const stream = clients[kind].stream('trials.run', { params, body, windUp });
    const seen: string[] = [];
    await expect(
      (async () => {
        for await (const { event } of stream) seen.push(event);
      })(),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(seen).not.toContain('run');
  });

  it('is ended, and its cell killed, when the caller aborts', async () => {
    const abort = new AbortController();
    const body = { snapshot: await upload(waiting), ...values() };
    let run = '';
    await expect(
      (async () => {
        for await (const event of clients[kind].stream('trials.run', { params, body, signal: abort.signal })) {
          if (event.event === 'run') run = event.run;
          if (isLog(event, 'waiting')) abort.abort();
        }
      })(),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await app.settled();
    expect(await stateOf(run)).toBe('CANCELLED');
  });

  it('is ended, and its cell killed, when the caller reads no further', async () => {
    const body = { snapshot: await upload(waiting), ...values() };
    let run = '';
    for await (const event of clients[kind].stream('trials.run', { params, body })) {
      if (event.event === 'run') run = event.run;
      if (isLog(event, 'waiting')) break;
    }
    await app.settled();
    expect(await stateOf(run)).toBe('CANCELLED');
  });
});

describe('what is done for one caller', () => {
  it('is not another’s to wind up, and neither is what is over', async () => {
    const answer = await app.fetch(
      new Request('http://x/v1/projects/default/trials', {
        method: 'POST',
        headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
        body: JSON.stringify({ snapshot: await upload(waiting), ...values() }),
      }),
    );
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const [, operation = ''] =
      /"operation":"(op_\w+)"/.exec(Buffer.from((await reader.read()).value ?? []).toString()) ?? [];
    const cancel = (project: string) => clients.inProcess.call('operations.cancel', { params: { project, operation } });
    await expect(cancel('another')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await cancel('default')).toEqual({ cancelling: true });
    let rest = '';
    for (let read = await reader.read(); !read.done; read = await reader.read())
      rest += Buffer.from(read.value).toString();
    expect(rest).toMatch(/^event: (result|problem)$/m);
    expect(await cancel('default')).toEqual({ cancelling: false });
  });

  it('can be followed by others: their stream ends with the run, and the run goes on without them', async () => {
    const body = {
      snapshot: await upload({
        body: `for (let i = 0; i < 20; i++) { ctx.log.info('n' + i); await ctx.clock.sleep(50); } return 1;`,
      }),
      ...values(),
    };
    let following: Promise<string[]> | undefined;
    let state: string | undefined;
    for await (const event of clients.inProcess.stream('trials.run', { params, body })) {
      if (event.event === 'run') {
        const run = { ...params, run: event.run };
        const leaving = clients.inProcess.stream('runs.logs', { params: run, query: { follow: true } });
        void (async () => {
          for await (const _ of leaving) break;
        })();
        following = (async () => {
          const messages: string[] = [];
          for await (const told of clients.overFetch.stream('runs.logs', { params: run, query: { follow: true } })) {
            messages.push(
              told.event === 'log'
                ? told.record.message
                : `${told.event} ${told.event === 'result' ? told.result.state : ''}`,
            );
          }
          return messages;
        })();
      }
      if (event.event === 'result') state = event.result.state;
    }
    expect(state).toBe('SUCCEEDED');
    expect(await following).toEqual([...Array.from({ length: 20 }, (_, i) => `n${i}`), 'result SUCCEEDED']);
  });
});

describe('an upload', () => {
  const file = (path: string, text = '') => ({ path, contentBase64: Buffer.from(text).toString('base64') });
  const trial = async (files: Snapshot['files']) => {
    for await (const event of clients.overFetch.stream('trials.run', {
      params,
      body: { snapshot: { files }, ...values() },
    }))
      if (event.event === 'result') return event.result.state;
    return undefined;
  };

  it.each([
    ['leads out of the package', '../x'],
    ['is absolute', '/etc/passwd'],
    ['has an empty part', 'a//b'],
    ['holds a NUL', 'a\0b'],
    ['reorders text', 'a\u202eb'],
    ['differs from another in case alone', 'SRC/index.ts'],
    ['lies where dependencies are unpacked', 'node_modules/a/index.js'],
    ['is deeper than any', `${'a/'.repeat(20)}b`],
  ])('is refused for a path that %s', async (_, path) => {
    const { files } = await upload({ body: 'return 1' });
    await expect(trial([...files, file(path)])).rejects.toMatchObject({ code: 'PACKAGE_INVALID' });
  });

  it('is refused when a path stands twice, and taken when it stands once', async () => {
    const { files } = await upload({ body: 'return 1' });
    await expect(trial([...files, file('README.md'), file('README.md')])).rejects.toMatchObject({
      code: 'PACKAGE_INVALID',
    });
    expect(await trial([...files, file('README.md')])).toBe('SUCCEEDED');
  });

  it.each([
    ['257 files', Array.from({ length: 257 }, (_, i) => file(`${i}.txt`))],
    ['none', []],
    ['what is no base64', [{ path: 'a', contentBase64: 'a b' }]],
    ['an overlong path', [file('a'.repeat(1025))]],
  ])('is refused as a request for %s', async (_, files) => {
    await expect(trial(files)).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
  });

  it('is refused for a file that is too large', async () => {
    const { files } = await upload({ body: 'return 1' });
    await expect(trial([...files, file('big.bin', 'x'.repeat(3 * 1024 * 1024))])).rejects.toMatchObject({
      code: 'PACKAGE_INVALID',
      details: { findings: [{ rule: 'PACKAGE_TOO_LARGE', place: { file: 'big.bin' } }] },
    });
  });
});
