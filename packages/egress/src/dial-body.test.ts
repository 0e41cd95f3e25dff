import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../test/ca.ts';
import { ask, bytes, closeDialers, failure, openScope, read } from '../test/dialing.ts';
import { closeOrigins, type Handler, openHttp1, openHttp2, openRaw } from '../test/origins.ts';
import { fencedBody } from './dial-body.ts';
import { dialFailure } from './dial-failure.ts';

let ca: TestCa;
let identity: ReturnType<TestCa['issue']>;
beforeAll(() => {
  ca = makeCa();
  identity = ca.issue(['DNS:origin.test']);
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

const mebibyte = 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, 'x');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * How much more this process held at any time while something was done. What was read and dropped is collected before each
 * look: how long V8 lets it lie is measured by the benchmarks, and differs with the load of the host.
 */
async function growth(work: () => Promise<void>): Promise<number> {
  const held = (): number => {
    // Buffers that the first finds dead are given back beside the program; the second waits for that.
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = held();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, held());
  }, 400);
  await work().finally(() => clearInterval(timer));
  return most - before;
}

/** A count that no longer grows. A test that waits for one that always does runs out of time. */
async function atRest(count: () => Promise<number>): Promise<number> {
  for (let last = await count(); ; ) {
    await sleep(500);
    const next = await count();
    if (next === last) return next;
    last = next;
  }
}

const floods: ChildProcess[] = [];
afterEach(() => {
  for (const child of floods.splice(0)) child.kill('SIGKILL');
});

async function openFlood(protocol: string): Promise<string> {
  const script = resolve(import.meta.dirname, '../test/children/flood-origin.ts');
  const child = spawn(process.execPath, [script, protocol, JSON.stringify(identity)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  floods.push(child);
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return `https://origin.test:${said.toString().trim()}`;
}

describe.each(['h1', 'h2'] as const)('a large body over %s', (protocol) => {
  const open = (handler: Handler) => (protocol === 'h1' ? openHttp1(handler, identity) : openHttp2(handler, identity));
  const scope = () => openScope({ extraCa: [ca.cert] });

  it('stops the origin while nobody reads it, and is not kept', async () => {
    const url = await openFlood(protocol);
    const asking = scope();
    const written = async () => Number((await read((await asking.request(ask(`${url}/written`))).body)).toString());
    expect(await written()).toBe(0);
    let size = 0;
    const grown = await growth(async () => {
      const { body } = await asking.request(ask(`${url}/down`));
      for await (const part of body) {
        size += part.byteLength;
        if (size > part.byteLength) continue;
        // What the kernel takes on both sides of loopback, and no more.
        expect(await atRest(written)).toBeLessThan(24 * mebibyte);
      }
    });
    expect(size).toBe(100 * mebibyte);
    expect(grown).toBeLessThan(32 * mebibyte);
  });

  it('stops its source while the origin does not read it, and is not kept', async () => {
    const url = await openFlood(protocol);
    const asking = scope();
    await read((await asking.request(ask(`${url}/written`))).body);
    let pulled = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      for (; pulled < 100 * mebibyte; pulled += chunk.byteLength) yield chunk;
    }
    const grown = await growth(async () => {
      const answering = asking.request(ask(`${url}/up`, { method: 'POST', body: source() }));
      expect(await atRest(async () => pulled)).toBeLessThan(24 * mebibyte);
      await read((await asking.request(ask(`${url}/read`))).body);
      expect((await read((await answering).body)).toString()).toBe(String(100 * mebibyte));
    });
    expect(grown).toBeLessThan(32 * mebibyte);
  });

  it('is stopped by the fence in its middle', async () => {
    let received = 0;
    const { port } = await open((request) => {
      request.on('data', (part: Buffer) => {
        received += part.byteLength;
      });
    });
    let asked = 0;
    const fence = (): void => {
      if (++asked > 20) throw dialFailure('ATTEMPT_ENDED', 'it has ended.');
    };
    const body = bytes(Buffer.alloc(16 * 1024), 1000);
    const request = scope().request(ask(`https://origin.test:${port}/`, { method: 'POST', body, fence }));
    expect(await failure(request)).toMatchObject({ code: 'EGRESS_DENIED', reason: 'ATTEMPT_ENDED' });
    await sleep(100);
    expect(received).toBeLessThanOrEqual(20 * 16 * 1024);
  });

  it('stops when its scope ends: not a byte comes after', async () => {
    let received = 0;
    const { port } = await open((request) => {
      request.on('data', (part: Buffer) => {
        received += part.byteLength;
      });
    });
    async function* source(): AsyncGenerator<Uint8Array> {
      for (;;) {
        yield Buffer.alloc(1000);
        await sleep(5);
      }
    }
    const ending = scope();
    const request = ending.request(ask(`https://origin.test:${port}/`, { method: 'POST', body: source() }));
    await expect.poll(() => received).toBeGreaterThan(5_000);
    ending.destroy();
    const outcome = failure(request);
    await sleep(20);
    const atEnd = received;
    await sleep(200);
    expect(received).toBe(atEnd);
    expect(await outcome).toMatchObject({ code: 'EGRESS_DENIED', reason: 'ATTEMPT_ENDED' });
    expect(await failure(ending.request(ask(`https://origin.test:${port}/`)))).toMatchObject({
      reason: 'ATTEMPT_ENDED',
    });
  });

  it('streams events as they come', async () => {
    const { port } = await open((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let nth = 0;
      const timer = setInterval(() => {
        response.write(`data: ${nth++}\n\n`);
        if (nth === 3) clearInterval(timer);
      }, 60);
      response.on('close', () => clearInterval(timer));
    });
    const { body } = await scope().request(ask(`https://origin.test:${port}/`, { timeouts: { idle: 5_000 } }));
    const events: string[] = [];
    const times: number[] = [];
    for await (const part of body) {
      events.push(Buffer.from(part).toString());
      times.push(performance.now());
      if (events.length === 3) break;
    }
    expect(events).toEqual(['data: 0\n\n', 'data: 1\n\n', 'data: 2\n\n']);
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(60);
  });
});

it('drops what the kernel still holds when a scope ends: the origin finds a reset, not the rest', async () => {
  let received = 0;
  const outcome = Promise.withResolvers<string>();
  const origin = await openRaw((socket) => {
    socket.pause();
    socket.on('error', (error: { code?: string }) => outcome.resolve(error.code ?? 'error'));
    socket.on('end', () => outcome.resolve('end'));
    setTimeout(() => {
      socket.on('data', (part: Buffer) => {
        received += part.byteLength;
      });
      socket.resume();
    }, 400);
  });
  const scope = openScope();
  let pulled = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield chunk;
      pulled += chunk.byteLength;
    }
  }
  const request = scope.request(ask(`http://origin.test:${origin.port}/`, { method: 'POST', body: source() }));
  const failed = failure(request);
  await sleep(200);
  scope.destroy();
  expect((await failed).reason).toBe('ATTEMPT_ENDED');
  expect(await outcome.promise).toBe('ECONNRESET');
  expect(received).toBeLessThan(pulled);
});

it.each(['http', 'https'] as const)(
  'lets one piece through the fence before the socket has taken it: %s',
  async (scheme) => {
    const connected = Promise.withResolvers<Socket>();
    const note = (message: unknown): void => connected.resolve((message as { socket: Socket }).socket);
    subscribe('undici:client:connected', note);
    try {
      const origin = await openRaw((socket) => void socket.pause(), scheme === 'https' ? identity : undefined);
      let pulled = 0;
      async function* source(): AsyncGenerator<Uint8Array> {
        for (; ; pulled += chunk.byteLength) yield chunk;
      }
      const url = `${scheme}://origin.test:${origin.port}/`;
      openScope({ extraCa: [ca.cert] })
        .request(ask(url, { method: 'POST', body: source() }))
        .catch(() => {});
      const socket = await connected.promise;
      expect(await atRest(async () => pulled)).toBeGreaterThan(0);
      expect(socket.writableNeedDrain).toBe(true);
      // And the line that says how long the piece is.
      expect(socket.writableLength).toBeLessThanOrEqual(16 * 1024 + 10);
    } finally {
      unsubscribe('undici:client:connected', note);
    }
  },
);

it('asks the fence for each piece, and pulls no more once the answer is over', async () => {
  let asked = 0;
  let isOver = false;
  const pieces: number[] = [];
  for await (const piece of fencedBody(
    bytes(Buffer.alloc(40_000), 3),
    () => asked++,
    () => isOver,
    undefined,
  )) {
    pieces.push(piece.byteLength);
    isOver = pieces.length === 4;
  }
  expect(pieces).toEqual([16_384, 16_384, 7_232, 16_384]);
  expect(asked).toBe(4);
});

it('breaks off a body that is not as long as it says, before the first byte too many', async () => {
  const taken = async (length: number) => {
    const pieces: number[] = [];
    const broken = failure(
      (async () => {
        for await (const { byteLength } of fencedBody(
          bytes(Buffer.alloc(10), 3),
          () => {},
          () => false,
          length,
        ))
          pieces.push(byteLength);
      })(),
    );
    return { pieces, reason: length === 30 ? await broken.catch(() => 'none') : (await broken).reason };
  };
  expect(await taken(25)).toEqual({ pieces: [10, 10], reason: 'HEADER_REFUSED' });
  expect(await taken(35)).toEqual({ pieces: [10, 10, 10], reason: 'HEADER_REFUSED' });
  expect(await taken(30)).toEqual({ pieces: [10, 10, 10], reason: 'none' });
});

it('asks the fence once more before the end, which is what sends the head of an empty body', async () => {
  const origin = await openHttp1((_request, response) => void response.end('ok'));
  const request = (fence: () => void) =>
    openScope().request(ask(`http://origin.test:${origin.port}/`, { method: 'POST', body: slowlyEmpty(), fence }));
  let closed = false;
  async function* slowlyEmpty(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(0);
    await sleep(20);
    closed = true;
  }
  await read((await request(() => {})).body);
  closed = false;
  const fence = (): void => {
    if (closed) throw dialFailure('ATTEMPT_ENDED', 'it has ended.');
  };
  expect(await failure(request(fence))).toMatchObject({ code: 'EGRESS_DENIED', reason: 'ATTEMPT_ENDED' });
  await sleep(50);
  expect(origin.seen).toHaveLength(1);
});

describe('a body whose length is said', () => {
  /** What the origin gets of a body, whether it believes its length or not. */
  async function sent(length: number, ...parts: string[]) {
    const received: Buffer[] = [];
    const origin = await rawHttp1(received);
    const body = (async function* () {
      for (const part of parts) {
        yield Buffer.from(part);
        // Each in a write of its own.
        await sleep(20);
      }
    })();
    const headers = { 'content-length': String(length) };
    const request = openScope({ extraCa: [ca.cert] }).request(
      ask(`https://origin.test:${origin.port}/`, { method: 'POST', headers, body }),
    );
    const outcome = await request.then(
      ({ status }) => status,
      (error: { details: { reason: string } }) => error.details.reason,
    );
    await sleep(50);
    return { outcome, received: Buffer.concat(received).toString() };
  }

  it('is sent when it is as long as that', async () => {
    expect(await sent(10, 'hello', 'there')).toEqual({ outcome: 200, received: 'hellothere' });
  });

  it('is refused when it is longer, before a byte too many leaves', async () => {
    const smuggled = 'GET /not-allowed HTTP/1.1\r\nhost: origin.test\r\n\r\n';
    expect(await sent(5, 'hello', smuggled)).toEqual({ outcome: 'HEADER_REFUSED', received: 'hello' });
    expect(await sent(5, `hello${smuggled}`)).toEqual({ outcome: 'HEADER_REFUSED', received: '' });
  });

  it('is refused when it is shorter', async () => {
    expect((await sent(50, 'hello')).outcome).toBe('HEADER_REFUSED');
    expect(await sent(50)).toEqual({ outcome: 'HEADER_REFUSED', received: '' });
  });
});

it('asks the fence before the head, after whatever was waited for', async () => {
  const origin = await openHttp1((_request, response) => void response.end('ok'));
  const scope = openScope();
  const url = `http://origin.test:${origin.port}/`;
  await read((await scope.request(ask(url))).body);
  // Let through at the beginning, and closed by the time that a kept connection is ready to write.
  let asked = 0;
  const fence = (): void => {
    if (++asked === 2) throw dialFailure('ATTEMPT_ENDED', 'it has ended.');
  };
  expect(await failure(scope.request(ask(url, { fence })))).toMatchObject({ reason: 'ATTEMPT_ENDED' });
  expect(origin.seen).toHaveLength(1);
});

/** Takes whatever comes after a head for its body, and answers when it has ten bytes of it. */
async function rawHttp1(received: Buffer[]) {
  return openRaw((socket, first) => {
    let size = 0;
    const take = (part: string): void => {
      size += part.length;
      if (part !== '') received.push(Buffer.from(part));
      if (size === 10) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    };
    take(first.slice(first.indexOf('\r\n\r\n') + 4));
    socket.on('data', (part: Buffer) => take(part.toString()));
  }, identity);
}
