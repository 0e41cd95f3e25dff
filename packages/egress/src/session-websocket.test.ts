import { afterEach, describe, expect, it } from 'vitest';
import { closeDialers } from '../test/dialing.ts';
import { closeOrigins, openHttp1, openRaw } from '../test/origins.ts';
import { type Cell, closeCells, deadlineMs, openCell, readAnswer, until } from '../test/sessions.ts';

afterEach(async () => {
  closeCells();
  closeDialers();
  await closeOrigins();
});

describe('a WebSocket', () => {
  const websocket = { rule: { scheme: 'http', websocket: true } } as const;
  const asking = {
    'glovebox-upgrade': 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
  };
  const agreed = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
    '',
    '',
  ].join('\r\n');

  /** Agrees, says `at once`, and echoes. */
  const openEcho = (seen: { text: string }) =>
    openRaw((socket) => {
      socket.write(`${agreed}at once `);
      socket.on('data', (chunk: Buffer) => {
        seen.text += chunk.toString();
        socket.write(chunk);
      });
      socket.once('end', () => socket.end('bye'));
    });

  it('carries bytes both ways, to the end of each', async () => {
    const seen = { text: '' };
    const origin = await openEcho(seen);
    const cell = openCell({ port: origin.port, ...websocket });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    const head = await stream.response;
    expect(head).toMatchObject({ status: 200, headers: { 'sec-websocket-accept': 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' } });
    expect(head.headers).not.toHaveProperty('upgrade');
    await stream.write(Buffer.from('one '));
    await until(() => seen.text === 'one ');
    await stream.write(Buffer.from('two '));
    stream.end();
    expect((await readAnswer(stream)).text).toBe('at once one two bye');
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({
      outcome: 'done',
      protocol: 'websocket',
      status: 101,
      bytesUp: 8,
      bytesDown: 19,
    });
  });

  it('is opened by a rule that says so alone', async () => {
    const origin = await openEcho({ text: '' });
    const cell = openCell({ port: origin.port, rule: { scheme: 'http', websocket: false } });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    stream.end();
    expect((await readAnswer(stream)).problem).toMatchObject({ reason: 'WEBSOCKET_NOT_DECLARED' });
    expect(origin.connections).toBe(0);
  });

  it('that the origin does not agree to is a request that failed', async () => {
    const origin = await openHttp1((_request, response) => void response.end('hello'));
    const cell = openCell({ port: origin.port, ...websocket });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    expect((await readAnswer(stream)).problem).toMatchObject({ code: 'EGRESS_FAILED', reason: 'PROTOCOL_ERROR' });
  });

  it.each([
    [
      'the deadline',
      (cell: Cell) => {
        cell.clock.ms = deadlineMs;
      },
    ],
    ['the end of the attempt', (cell: Cell) => cell.session.end()],
  ])('says nothing more after %s', async (_, over) => {
    const seen = { text: '' };
    const origin = await openEcho(seen);
    const cell = openCell({ port: origin.port, ...websocket });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    await stream.response;
    await stream.write(Buffer.from('one'));
    await until(() => seen.text === 'one');
    over(cell);
    await stream.write(Buffer.from('two')).catch(() => undefined);
    await expect(readAnswer(stream)).rejects.toThrow(/ATTEMPT_ENDED/);
    await until(() => origin.sockets.size === 0);
    expect(seen.text).toBe('one');
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'aborted', reason: 'ATTEMPT_ENDED' });
  });

  it('counts for what the attempt may receive', async () => {
    const origin = await openRaw((socket) => void socket.write(`${agreed}${'x'.repeat(2000)}`));
    const cell = openCell({ port: origin.port, ...websocket, grant: { maxResponseBytes: 1000 } });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    await expect(readAnswer(stream)).rejects.toThrow(/RESPONSE_TOO_LARGE/);
    await until(() => origin.sockets.size === 0);
  });

  it('that is silent for too long is given up', async () => {
    const origin = await openEcho({ text: '' });
    const timeouts = { connect: 5000, headers: 5000, idle: 300, total: 60_000 };
    const cell = openCell({ port: origin.port, ...websocket, timeouts });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    await expect(readAnswer(stream)).rejects.toThrow(/IDLE_TIMED_OUT/);
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'failed', reason: 'IDLE_TIMED_OUT' });
  });

  it('ends at its origin when the cell gives it up', async () => {
    const origin = await openEcho({ text: '' });
    const cell = openCell({ port: origin.port, ...websocket });
    const stream = cell.open('GET', `http://origin.test:${origin.port}/`, asking);
    await stream.response;
    stream.reset('enough');
    await until(() => origin.sockets.size === 0);
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'aborted', reason: null });
  });
});
