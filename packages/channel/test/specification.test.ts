import { readFileSync } from 'node:fs';
import { duplexPair } from 'node:stream';
import { expect, it } from 'vitest';
import { connectClient, defaultChannelLimits, serveChannel } from '../src/index.ts';
import { limitRanges } from '../src/limits.ts';
import { RawPeer, settle } from './kit.ts';

const page = readFileSync(new URL('../../../docs/channel.md', import.meta.url), 'utf8');

/** The frames of the page's example, as bytes of each side. */
function example(): { client: Buffer; server: Buffer } {
  const block = /## An example.*?```\n(.*?)```/s.exec(page)?.[1] as string;
  const said = { client: '', server: '' };
  for (const line of block.trim().split('\n')) {
    const [side, ...hex] = line.split(/\s+/);
    said[side as 'client' | 'server'] += hex.join('');
  }
  return { client: Buffer.from(said.client, 'hex'), server: Buffer.from(said.server, 'hex') };
}

it('the client says what the example of docs/channel.md says, and understands the answer', async () => {
  const [mine, theirs] = duplexPair();
  const heard: Buffer[] = [];
  mine.on('data', (chunk: Buffer) => heard.push(chunk));
  mine.write(example().server.subarray(0, 48));
  const client = connectClient(theirs);
  const stream = client.open({ method: 'GET', url: 'http://control.invalid/job', headers: {} });
  stream.end();
  await settle();
  expect(Buffer.concat(heard).toString('hex')).toBe(example().client.toString('hex'));
  mine.write(example().server.subarray(48));
  expect((await stream.response).status).toBe(200);
  const body: Uint8Array[] = [];
  for await (const chunk of stream.body) body.push(chunk);
  expect(Buffer.concat(body).toString()).toBe('{}');
});

it('the server says what the example of docs/channel.md says', async () => {
  const [mine, theirs] = duplexPair();
  const heard: Buffer[] = [];
  const raw = new RawPeer(mine);
  mine.on('data', (chunk: Buffer) => heard.push(chunk));
  serveChannel(theirs, (stream) => {
    stream.respond({ status: 200, headers: {} });
    void stream.write(Buffer.from('{}'));
    stream.end();
  });
  raw.say(example().client);
  await raw.frame(5, 1);
  expect(Buffer.concat(heard).toString('hex')).toBe(example().server.toString('hex'));
});

it('docs/channel.md names the limits that are in force', () => {
  const numbers = (text: string): number[] =>
    [...text.matchAll(/([\d,]+)( MiB)?/g)].map(
      ([, digits, mega]) => Number((digits as string).replaceAll(',', '')) * (mega ? 1024 * 1024 : 1),
    );
  for (const [name, range] of Object.entries(limitRanges)) {
    const row = new RegExp(`\\| \`${name}\` \\|([^|]*)\\|([^|]*)\\|([^|]*)\\|`).exec(page);
    const stated = [row?.[1], row?.[2], row?.[3]].map((cell) => numbers(cell as string)[0]);
    expect(stated, name).toEqual([...range, defaultChannelLimits[name as keyof typeof defaultChannelLimits]]);
  }
});
