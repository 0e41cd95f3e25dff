import { duplexPair } from 'node:stream';
import { type ChannelClient, connectClient, serveChannel } from '@glovebox/channel';
import { afterEach, describe, expect, it } from 'vitest';
import { BuildChannel } from './build-channel.ts';

const open: { close(): void }[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end.close();
});

function connect(): { client: ChannelClient; control: BuildChannel } {
  const [inside, outside] = duplexPair();
  const control = new BuildChannel({
    files: new Map([
      ['package.json', Buffer.from('{}')],
      ['empty', new Uint8Array()],
    ]),
    packages: [
      {
        path: 'node_modules/a',
        name: 'a',
        version: '1.0.0',
        integrity: 'i',
        use: 'node',
        bytes: Buffer.from('archive'),
      },
    ],
  });
  const server = serveChannel(outside, (stream) => control.accept(stream));
  const client = connectClient(inside);
  open.push(client, server);
  return { client, control };
}

async function call(client: ChannelClient, method: string, path: string, body?: string) {
  const stream = client.open({ method, url: `http://control.invalid${path}`, headers: {} });
  if (body !== undefined) await stream.write(Buffer.from(body));
  stream.end();
  const { status } = await stream.response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.body) chunks.push(Uint8Array.from(chunk));
  return { status, body: Buffer.concat(chunks) };
}

const report = {
  files: 1,
  packages: 1,
  entries: 3,
  bytes: 10,
  findings: [],
  moreFindings: 0,
  webAssembly: [],
  settings: [],
};
const found = { rule: 'ARCHIVE_REFUSED', message: 'm', package: 'node_modules/a', entry: 'e' } as const;

describe('the requests of a builder', () => {
  it('get every input in order, and the word to go on', async () => {
    const { client, control } = connect();
    const { body } = await call(client, 'GET', '/inputs');
    const records: [unknown, string][] = [];
    for (let at = 0; at < body.length; ) {
      const length = body.readUInt32LE(at);
      const header = JSON.parse(body.toString('utf8', at + 4, at + 4 + length)) as { sizeBytes?: number };
      at += 4 + length + (header.sizeBytes ?? 0);
      records.push([header, body.toString('utf8', at - (header.sizeBytes ?? 0), at)]);
    }
    expect(records).toEqual([
      [{ kind: 'file', path: 'package.json', sizeBytes: 2 }, '{}'],
      [{ kind: 'file', path: 'empty', sizeBytes: 0 }, ''],
      [{ kind: 'package', path: 'node_modules/a', name: 'a', version: '1.0.0', use: 'node', sizeBytes: 7 }, 'archive'],
      [{ kind: 'end' }, ''],
    ]);
    expect((await call(client, 'POST', '/unpacked', JSON.stringify(report))).status).toBe(204);
    expect(await control.report).toEqual(report);
  });

  it('are told to stop when something was found', async () => {
    const { client, control } = connect();
    await call(client, 'GET', '/inputs');
    expect((await call(client, 'POST', '/unpacked', JSON.stringify({ ...report, findings: [found] }))).status).toBe(
      409,
    );
    expect(await control.report).toMatchObject({ findings: [found] });
  });

  it.each<[string, [string, string, string?][]]>([
    ['a report before the inputs', [['POST', '/unpacked', '{}']]],
    [
      'the inputs twice',
      [
        ['GET', '/inputs'],
        ['GET', '/inputs'],
      ],
    ],
    [
      'two reports',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', '{'],
        ['POST', '/unpacked', JSON.stringify(report)],
      ],
    ],
    ['a request of run cells', [['GET', '/job']]],
    [
      'a report that is no JSON',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', 'x'],
      ],
    ],
    [
      'a report with a field too many',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', JSON.stringify({ ...report, more: 1 })],
      ],
    ],
    [
      'a report with a rule of its own',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', JSON.stringify({ ...report, findings: [{ ...found, rule: 'CANCELLED' }] })],
      ],
    ],
    [
      'a report that counts below zero',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', JSON.stringify({ ...report, files: -1 })],
      ],
    ],
    [
      'a report over its limit',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', ' '.repeat(4 * 1024 * 1024 + 1)],
      ],
    ],
    [
      'a report that nests too deep',
      [
        ['GET', '/inputs'],
        ['POST', '/unpacked', '['.repeat(1000)],
      ],
    ],
  ])('that are %s end the build', async (_what, calls) => {
    const { client, control } = connect();
    for (const [method, path, body] of calls) await call(client, method, path, body).catch(() => {});
    await expect(control.report).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
  });

  it('to any other authority end the build', async () => {
    const { client, control } = connect();
    const stream = client.open({ method: 'GET', url: 'http://registry.example/inputs', headers: {} });
    stream.end();
    await expect(stream.response).rejects.toThrow();
    await expect(control.report).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
  });
});
