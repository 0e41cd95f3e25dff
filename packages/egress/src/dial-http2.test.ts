import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../test/ca.ts';
import { ask, bytes, closeDialers, failure, openScope, readText, reasonOf } from '../test/dialing.ts';
import { endHeaders, frame, frameTypes, openFrames, status200 } from '../test/frames.ts';
import { closeOrigins, openHttp2 } from '../test/origins.ts';

let ca: TestCa;
let identity: ReturnType<TestCa['issue']>;
const sockets = new Set<Socket>();
const servers: { server: Http2SecureServer; destroy(): void }[] = [];
beforeAll(() => {
  ca = makeCa();
  identity = ca.issue(['DNS:origin.test']);
});
afterEach(async () => {
  closeDialers();
  for (const { server, destroy } of servers.splice(0)) {
    destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** An origin that does with each stream what a test wants, down to its frames. */
async function open(serve: (stream: ServerHttp2Stream, nth: number) => void, options: SecureServerOptions = {}) {
  const server = createSecureServer({ ...identity, ...options });
  const sessions = new Set<{ destroy(): void }>();
  let count = 0;
  let connections = 0;
  server.on('session', (session) => {
    connections++;
    sessions.add(session);
    session.on('error', () => {});
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    serve(stream, ++count);
  });
  servers.push({ server, destroy: () => sessions.forEach((session) => void session.destroy()) });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `https://origin.test:${(server.address() as AddressInfo).port}/`,
    get connections() {
      return connections;
    },
    get streams() {
      return count;
    },
  };
}

const scope = () => openScope({ extraCa: [ca.cert] });
const answer = (stream: ServerHttp2Stream): void => {
  stream.respond({ ':status': 200 });
  stream.end('ok');
};

describe('an HTTP/2 origin', () => {
  it('may send a head of 16 KiB, and none above 32 KiB', async () => {
    const { url } = await open((stream, nth) => {
      stream.respond({ ':status': 200, 'x-long': 'a'.repeat(nth === 1 ? 16_000 : 40_000) });
      stream.end('ok');
    });
    const asking = scope();
    expect((await asking.request(ask(url))).headers['x-long']).toHaveLength(16_000);
    expect(await reasonOf(asking.request(ask(url)))).toBe('HEADERS_TOO_LARGE');
  });

  it('cannot send more headers than there is room for', async () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, nth) => [`x-${nth}`, 'a'.repeat(40)]));
    const { url } = await open(
      (stream) => {
        stream.respond({ ':status': 200, ...many });
        stream.end('ok');
      },
      { maxSendHeaderBlockLength: 1_000_000 },
    );
    expect(await reasonOf(scope().request(ask(url)))).toBe('HEADERS_TOO_LARGE');
  });

  it('may send a few heads before the answer, but not without end', async () => {
    const { url } = await open((stream, nth) => {
      for (let sent = 0; sent < (nth === 1 ? 16 : 17); sent++)
        stream.additionalHeaders({ ':status': 103, link: '</a>' });
      answer(stream);
    });
    const asking = scope();
    expect(await readText((await asking.request(ask(url))).body)).toBe('ok');
    expect(await reasonOf(asking.request(ask(url)))).toBe('PROTOCOL_ERROR');
  });

  it('loses a request when it resets its stream, before and after the head', async () => {
    const { url } = await open((stream, nth) => {
      if (nth === 1) return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      stream.respond({ ':status': 200 });
      stream.write('o', () => stream.destroy(new Error('broken')));
    });
    const asking = scope();
    expect(await reasonOf(asking.request(ask(url, { method: 'POST' })))).toBe('CONNECTION_LOST');
    expect(await reasonOf(asking.request(ask(url)).then(({ body }) => readText(body)))).toBe('CONNECTION_LOST');
  });

  it.each(['the session', 'the socket'])('loses an answer without a length when %s dies in it', async (what) => {
    const { url } = await open((stream) => {
      stream.respond({ ':status': 200 });
      stream.write('half of it'.repeat(20_000), () =>
        setTimeout(() => {
          if (what === 'the session') stream.session?.destroy();
          else sockets.forEach((socket) => void socket.destroy());
        }, 30),
      );
    });
    for (const reader of [readText, slowly]) {
      const { body } = await scope().request(ask(url));
      expect(await reasonOf(reader(body))).toBe('CONNECTION_LOST');
    }
  });

  it('may leave as soon as an answer is whole', async () => {
    const { url } = await open((stream) => {
      stream.respond({ ':status': 200 });
      stream.end('all of it');
      stream.on('close', () => stream.session?.destroy());
    });
    for (let nth = 0; nth < 5; nth++) {
      expect(await readText((await scope().request(ask(url))).body)).toBe('all of it');
    }
  });

  it('sends no more and no less than it says', async () => {
    const { url } = await open((stream, nth) => {
      stream.respond({ ':status': 200, 'content-length': 5 });
      stream.end(nth === 1 ? 'ok' : 'much more');
    });
    const asking = scope();
    for (let nth = 0; nth < 2; nth++) {
      const outcome = failure(asking.request(ask(url)).then(({ body }) => readText(body)));
      expect(await outcome).toMatchObject({ code: 'EGRESS_FAILED' });
    }
  });

  it('may say goodbye: what comes next goes to a new connection', async () => {
    const origin = await open((stream, nth) => {
      answer(stream);
      if (nth === 1) stream.session?.goaway();
    });
    const asking = scope();
    expect(await readText((await asking.request(ask(origin.url))).body)).toBe('ok');
    expect(await readText((await asking.request(ask(origin.url, { method: 'POST' }))).body)).toBe('ok');
    expect([origin.connections, origin.streams]).toEqual([2, 2]);
  });

  it('that takes one request at a time gets one at a time', async () => {
    let most = 0;
    let now = 0;
    const { url } = await open(
      (stream) => {
        most = Math.max(most, ++now);
        setTimeout(() => {
          now--;
          answer(stream);
        }, 20);
      },
      { settings: { maxConcurrentStreams: 1 } },
    );
    const asking = scope();
    await readText((await asking.request(ask(url))).body);
    const all = Array.from({ length: 5 }, async () => readText((await asking.request(ask(url))).body));
    expect(await Promise.all(all)).toEqual(Array(5).fill('ok'));
    expect(most).toBe(1);
  });

  it('that takes none is waited for until the deadline of the connection', async () => {
    const origin = await open(answer, { settings: { maxConcurrentStreams: 0 } });
    const asking = scope();
    // The first may go before its word is there.
    await asking.request(ask(origin.url, { timeouts: { connect: 300, headers: 300 } })).catch(() => {});
    expect(await reasonOf(asking.request(ask(origin.url, { timeouts: { connect: 300 } })))).toBe('CONNECT_TIMED_OUT');
  });

  it('keeps its other requests when one is given up', async () => {
    const waiting: ServerHttp2Stream[] = [];
    const origin = await open((stream) => void waiting.push(stream));
    const asking = scope();
    const giving = new AbortController();
    const given = failure(asking.request(ask(origin.url, { signal: giving.signal })));
    const kept = asking.request(ask(origin.url));
    await expect.poll(() => waiting.length).toBe(2);
    giving.abort();
    await given;
    for (const stream of waiting) if (!stream.destroyed) answer(stream);
    expect(await readText((await kept).body)).toBe('ok');
    expect(origin.connections).toBe(1);
  });
});

it.each([
  ['pushes what nobody asked for', frame(frameTypes.push, endHeaders, 1, Buffer.of(0, 0, 0, 2, 0x82, 0x84, 0x87))],
  ['goes on with a head without end', Buffer.concat(Array(50_000).fill(frame(frameTypes.continuation, 0, 1)))],
  ['changes its settings without end', Buffer.concat(Array(100_000).fill(frame(frameTypes.settings, 0, 0)))],
  ['answers before its head', frame(frameTypes.data, 0, 1, Buffer.from('x'))],
  ['speaks of a stream that is not there', frame(frameTypes.headers, endHeaders, 2, status200)],
])('an HTTP/2 origin is left when it %s', async (_what, said) => {
  const origin = await openFrames(identity, ({ type }, socket) => {
    if (type === frameTypes.headers) socket.write(said);
  });
  try {
    const url = `https://origin.test:${origin.port}/`;
    expect(await failure(scope().request(ask(url)))).toMatchObject({ code: 'EGRESS_FAILED', reason: 'PROTOCOL_ERROR' });
  } finally {
    await origin.close();
  }
});

it('an HTTP/2 origin gets bodies by HTTP/1.1, which cannot make Node.js write empty frames for ever', async () => {
  const origin = await openHttp2((request, response) => {
    request.resume().on('end', () => response.end(request.httpVersion));
  }, identity);
  const asking = scope();
  const url = `https://origin.test:${origin.port}/`;
  const versionOf = async (more = {}) => readText((await asking.request(ask(url, more))).body);
  expect(await versionOf()).toBe('2.0');
  expect(await versionOf({ method: 'POST', body: bytes(Buffer.from('x'), 3) })).toBe('1.1');
  expect(await versionOf({ method: 'DELETE' })).toBe('2.0');
  await closeOrigins();
});

async function slowly(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of body) {
    text += chunk.toString();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return text;
}
