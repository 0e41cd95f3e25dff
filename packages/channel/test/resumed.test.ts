import { duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type ServerStream, serveChannel } from '../src/index.ts';
import { endOf, read } from './kit.ts';
import { data, end, hello, open, uint32 } from './wire.ts';

const frames = 12_000;
const body = Buffer.concat(Array.from({ length: frames }, (_, n) => uint32(n)));

/** A server that has been sent more frames than it takes in one turn, and its transport. */
function backlog() {
  const [mine, cells] = duplexPair();
  const streams: ServerStream[] = [];
  const server = serveChannel(mine, (stream) => streams.push(stream));
  cells.resume();
  cells.write(Buffer.concat([hello(), open(1, '["PUT","http://a/"]')]));
  for (let at = 0; at < frames; at += 3000)
    cells.write(Buffer.concat(Array.from({ length: 3000 }, (_, n) => data(1, uint32(at + n)))));
  cells.write(end(1));
  return { mine, cells, server, streams };
}

it('takes frames in their order although somebody resumes the transport that it has paused', async () => {
  const { mine, server, streams } = backlog();
  // As Node.js does with the pipes of a child that has exited.
  for (let i = 0; i < 200; i++) {
    mine.resume();
    await turn();
  }
  const whole = await read((streams[0] as ServerStream).body);
  expect(whole.equals(body)).toBe(true);
  server.close();
  expect((await endOf(server)).kind).toBe('closed');
});

it('takes what had come before the transport ended, although its time had not come', async () => {
  const { mine, cells, server, streams } = backlog();
  cells.end();
  for (let i = 0; i < 200; i++) {
    mine.resume();
    await turn();
  }
  expect((await endOf(server)).kind).toBe('closed');
  expect((await read((streams[0] as ServerStream).body)).equals(body)).toBe(true);
});
