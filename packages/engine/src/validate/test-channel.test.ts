import { duplexPair } from 'node:stream';
import { type ChannelClient, connectClient, serveChannel } from '@glovebox/channel';
import { testLimits } from '@glovebox/contract/build-limits';
import { afterEach, describe, expect, it } from 'vitest';
import { TestChannel } from './test-channel.ts';

const open: { close(): void }[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end.close();
});

const job = { nonce: 'a'.repeat(32), seed: 1, startMs: 0, files: ['test/a.test.ts'] };
const result = { nonce: job.nonce, success: true, tests: [], moreTests: 0, diagnostics: [], files: [] };

function connect(): { client: ChannelClient; channel: TestChannel } {
  const [inside, outside] = duplexPair();
  const channel = new TestChannel(job);
  const server = serveChannel(outside, (stream) => {
    channel.accept(stream).catch(() => stream.reset('refused'));
  });
  const client = connectClient(inside);
  open.push(client, server);
  return { client, channel };
}

async function call(client: ChannelClient, method: string, path: string, body?: string): Promise<string> {
  const stream = client.open({ method, url: `http://control.invalid${path}`, headers: {} });
  if (body !== undefined) void stream.write(Buffer.from(body));
  stream.end();
  await stream.response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.body) chunks.push(Uint8Array.from(chunk));
  return Buffer.concat(chunks).toString();
}

/** A result is never answered: the cell is killed. */
const tell = (client: ChannelClient, text: string): void =>
  void call(client, 'POST', '/test-result', text).catch(() => {});
const told = (value: object = result) => JSON.stringify(value);
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

describe('a tests cell', () => {
  it('gets its job and tells one result', async () => {
    const { client, channel } = connect();
    expect(JSON.parse(await call(client, 'GET', '/test-job'))).toEqual(job);
    tell(client, told());
    expect(await channel.result).toEqual(result);
    expect(channel.broken).toBe(false);
  });

  it('is found out when it tells a second result, which changes nothing of the first', async () => {
    const { client, channel } = connect();
    await call(client, 'GET', '/test-job');
    tell(client, told({ ...result, success: false }));
    expect(await channel.result).toMatchObject({ success: false });
    tell(client, told());
    await settle();
    expect(channel.broken).toBe(true);
  });

  it('is stopped when it tells two results at once', async () => {
    const { client, channel } = connect();
    await call(client, 'GET', '/test-job');
    tell(client, told());
    tell(client, told());
    await expect(channel.result).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
  });

  const wrong: [string, string][] = [
    ['no JSON', '{'],
    ['another shape', told({ ...result, more: 1 })],
    ['another nonce', told({ ...result, nonce: 'b'.repeat(32) })],
    ['no nonce', told({ ...result, nonce: undefined })],
    ['an unknown verdict', told({ ...result, tests: [{ name: 'x', verdict: 'perfect' }] })],
    ['a name without end', told({ ...result, tests: [{ name: 'x'.repeat(501), verdict: 'passed' }] })],
    [
      'too many tests',
      told({ ...result, tests: Array.from({ length: 10_001 }, () => ({ name: '', verdict: 'passed' })) }),
    ],
    ['too much', ' '.repeat(testLimits.resultBytes + 1)],
    ['depth', `${'['.repeat(100_000)}`],
  ];
  it.each(wrong)('is stopped when its result has %s', async (_, text) => {
    const { client, channel } = connect();
    await call(client, 'GET', '/test-job');
    tell(client, text);
    await expect(channel.result).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
    expect(channel.broken).toBe(true);
  });

  it('is stopped when its result breaks off', async () => {
    const { client, channel } = connect();
    await call(client, 'GET', '/test-job');
    const stream = client.open({ method: 'POST', url: 'http://control.invalid/test-result', headers: {} });
    await stream.write(Buffer.from(told().slice(0, 10)));
    stream.reset('cancelled');
    await expect(channel.result).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
    expect(channel.broken).toBe(true);
  });

  it.each([
    ['the result before the job', [['POST', '/test-result']]],
    [
      'the job twice',
      [
        ['GET', '/test-job'],
        ['GET', '/test-job'],
      ],
    ],
    [
      'what a node asks',
      [
        ['GET', '/test-job'],
        ['GET', '/bundle'],
      ],
    ],
  ])('is stopped when it asks %s', async (_, requests) => {
    const { client, channel } = connect();
    for (const [method = '', path = ''] of requests) await call(client, method, path).catch(() => {});
    await expect(channel.result).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
  });
});
