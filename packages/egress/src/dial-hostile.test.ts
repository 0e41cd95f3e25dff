import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeDialers, failure, openScope, read, readText, reasonOf } from '../test/dialing.ts';
import { closeOrigins, openRaw } from '../test/origins.ts';

afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

/** What a client gets of an origin that says this on every connection, and then no more. */
async function told(said: string, more: Parameters<typeof ask>[1] = {}) {
  const { port } = await openRaw((socket) => socket.write(said, 'latin1'));
  const scope = openScope();
  return scope.request(ask(`http://origin.test:${port}/`, more));
}

const plain = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('an origin that does not speak HTTP as it should', () => {
  it('is understood when it does', async () => {
    expect(await readText((await told(plain)).body)).toBe('ok');
  });

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nok'],
    ['the same length twice', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['a length below nothing', 'HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok'],
    ['a length in hex', 'HTTP/1.1 200 OK\r\ncontent-length: 0x2\r\n\r\nok'],
    ['a length that overflows', 'HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\nok'],
    ['a blank before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok'],
    ['a folded header', 'HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 2\r\n\r\nok'],
    ['a zero byte in a value', 'HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 2\r\n\r\nok'],
    ['lines that end in a bare CR', 'HTTP/1.1 200 OK\rcontent-length: 2\r\r\nok'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 099 What\r\n\r\n'],
    ['a switch to nothing', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['HTTP/2 that nobody asked for', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('is refused: %s', async (_what, said) => {
    const promise = told(said).then(({ body }) => readText(body));
    expect(await failure(promise)).toMatchObject({ code: 'EGRESS_FAILED', reason: 'PROTOCOL_ERROR' });
  });

  it.each(['gzip, chunked', 'chunked, gzip', 'gzip', 'xchunked'])(
    'is refused when it transfers by %s',
    async (coding) => {
      const said = `HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`;
      expect(await failure(told(said))).toMatchObject({ code: 'EGRESS_FAILED', reason: 'ENCODING_REFUSED' });
      expect(await readText((await told(said.replace(coding, 'Chunked'))).body)).toBe('ok');
    },
  );

  it.each([
    ['a chunk size that is none', '2z\r\nok\r\n0\r\n\r\n'],
    ['a chunk size that overflows', '100000000000000002\r\nok\r\n0\r\n\r\n'],
    ['a chunk that is longer than it says', '1\r\nok\r\n0\r\n\r\n'],
  ])('is refused in the middle of its body: %s', async (_what, chunks) => {
    const promise = told(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`).then(({ body }) =>
      readText(body),
    );
    expect(await reasonOf(promise)).toBe('PROTOCOL_ERROR');
  });

  it.each([
    [
      'switches the protocol unasked',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    ],
    ['goes on where nobody waited', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('is left when it %s', async (_what, said) => {
    expect(await failure(told(said))).toMatchObject({ code: 'EGRESS_FAILED' });
  });

  it('may send a few heads before the answer, but not without end', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    expect(await readText((await told(hint.repeat(16) + plain)).body)).toBe('ok');
    expect(await reasonOf(told(hint.repeat(17) + plain))).toBe('PROTOCOL_ERROR');
    expect(await reasonOf(told(hint.repeat(10_000)))).toBe('PROTOCOL_ERROR');
  });

  it.each([
    ['one long value', `x: ${'a'.repeat(40_000)}\r\n`],
    ['many short ones', 'x: a\r\n'.repeat(20_000)],
    ['a long name', `${'x'.repeat(40_000)}: a\r\n`],
  ])('is refused when its head is too large: %s', async (_what, lines) => {
    expect(await reasonOf(told(`HTTP/1.1 200 OK\r\n${lines}content-length: 2\r\n\r\nok`))).toBe('HEADERS_TOO_LARGE');
  });

  it('may have a head of 16 KiB', async () => {
    const answer = await told(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(16_000)}\r\ncontent-length: 2\r\n\r\nok`);
    expect(answer.headers.x).toHaveLength(16_000);
  });

  it.each([
    ['blank lines before its head', '', '\r\n'],
    ['an extension of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;', 'a'],
  ])('is left when it sends %s without end', async (_what, head, filler) => {
    const { port } = await openRaw((socket) => {
      socket.write(head);
      const go = (): void => {
        while (socket.write(filler.repeat(100_000 / filler.length)));
        socket.once('drain', go);
      };
      go();
    });
    const request = openScope()
      .request(ask(`http://origin.test:${port}/`))
      .then(({ body }) => readText(body));
    expect(await reasonOf(request)).toBe('PROTOCOL_ERROR');
  });

  it('may send each byte as a chunk of its own, and some blank lines', async () => {
    const { port } = await openRaw((socket) => {
      socket.write(`${'\r\n'.repeat(1000)}HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n`);
      socket.write('1\r\na\r\n'.repeat(400_000), () => setTimeout(() => socket.write('0\r\n\r\n'), 1_200));
    });
    const { body } = await openScope().request(ask(`http://origin.test:${port}/`));
    expect((await read(body)).byteLength).toBe(400_000);
  });

  it('is refused when trailers have no end', async () => {
    const said = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${'x: aaaaaaaa\r\n'.repeat(5000)}`;
    expect(await reasonOf(told(said).then(({ body }) => readText(body)))).toBe('HEADERS_TOO_LARGE');
  });

  it('cannot slip in the answer to the next request', async () => {
    const forged = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged';
    const origin = await openRaw((socket, _head, nth) => {
      socket.write(nth === 1 ? plain + forged : plain);
      socket.on('data', () => socket.write(plain));
    });
    const scope = openScope();
    const url = `http://origin.test:${origin.port}/`;
    expect(await readText((await scope.request(ask(url))).body)).toBe('ok');
    expect(await readText((await scope.request(ask(url))).body)).toBe('ok');
    expect(origin.connections).toBe(2);
  });

  it('cannot answer a request before it is made', async () => {
    const origin = await openRaw((socket, _head, nth) => {
      socket.write(plain);
      if (nth === 1) setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged'), 30);
      socket.on('data', () => socket.write(plain));
    });
    const scope = openScope();
    const url = `http://origin.test:${origin.port}/`;
    expect(await readText((await scope.request(ask(url))).body)).toBe('ok');
    await sleep(100);
    expect(await readText((await scope.request(ask(url))).body)).toBe('ok');
    expect(origin.connections).toBe(2);
  });

  it.each([
    ['before its answer', '', 'CONNECTION_LOST'],
    ['in its head', 'HTTP/1.1 200 OK\r\nx:', 'CONNECTION_LOST'],
    ['in a body with a length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok', 'CONNECTION_LOST'],
    [
      'in a body with a length, as it said',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nok',
      'CONNECTION_LOST',
    ],
    ['in a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nok', 'CONNECTION_LOST'],
    ['between chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n', 'CONNECTION_LOST'],
  ])('has lost the connection when it ends or resets it %s', async (_what, said, reason) => {
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      const { port } = await openRaw((socket) => socket.write(said, () => setTimeout(() => socket[leave](), 20)));
      const promise = openScope()
        .request(ask(`http://origin.test:${port}/`))
        .then(({ body }) => readText(body));
      expect(await reasonOf(promise)).toBe(reason);
    }
  });

  it('may end a body by closing where it gave no length', async () => {
    const { port } = await openRaw((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil here'));
    expect(await readText((await openScope().request(ask(`http://origin.test:${port}/`))).body)).toBe('until here');
  });

  it('learns nothing of the body that was not asked for', async () => {
    const { body } = await told('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok');
    expect(await read(body)).toHaveLength(0);
  });
});

describe('an origin that takes its time', () => {
  const ms = 150;

  it('is left when it says nothing', async () => {
    const outcome = await failure(told('', { timeouts: { headers: ms } }));
    expect(outcome).toMatchObject({ code: 'EGRESS_TIMED_OUT', reason: 'HEADERS_TIMED_OUT' });
  });

  it('is left when its head comes byte by byte', async () => {
    const { port } = await openRaw((socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: aaaaaaaaaaaaaaaaaaaaa', 50));
    const request = openScope().request(ask(`http://origin.test:${port}/`, { timeouts: { headers: ms } }));
    expect(await reasonOf(request)).toBe('HEADERS_TIMED_OUT');
  });

  it('is left when it stops in its body', async () => {
    const { body } = await told('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok', { timeouts: { idle: ms } });
    expect(await failure(read(body))).toMatchObject({ code: 'EGRESS_TIMED_OUT', reason: 'IDLE_TIMED_OUT' });
  });

  it.each([
    ['with a length', 'content-length: 100\r\n\r\n', 'a'],
    ['in chunks without end', 'transfer-encoding: chunked\r\n\r\n', '1\r\na\r\n'],
    ['in an extension of a chunk', 'transfer-encoding: chunked\r\n\r\n5;', 'a'],
  ])('is left when its body drips on past the total deadline: %s', async (_what, head, drop) => {
    const { port } = await openRaw((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}`);
      drip(socket, drop.repeat(100), 20, drop.length);
    });
    const timeouts = { idle: 5_000, total: 400 };
    const { body } = await openScope().request(ask(`http://origin.test:${port}/`, { timeouts }));
    expect(await failure(read(body))).toMatchObject({ code: 'EGRESS_TIMED_OUT', reason: 'TOTAL_TIMED_OUT' });
  });

  it('may drip as long as each byte comes in time', async () => {
    const { port } = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n');
      drip(socket, '0123456789', 50);
    });
    const { body } = await openScope().request(ask(`http://origin.test:${port}/`, { timeouts: { idle: 300 } }));
    expect(await readText(body)).toBe('0123456789');
  });

  it('is not idle while its reader does something else', async () => {
    const { port } = await openRaw((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`);
    });
    const { body } = await openScope().request(ask(`http://origin.test:${port}/`, { timeouts: { idle: 200 } }));
    let size = 0;
    for await (const chunk of body) {
      if (size === 0) await sleep(600);
      size += chunk.byteLength;
    }
    expect(size).toBe(1_000_000);
  });

  it('does not hold up another', async () => {
    const slow = await openRaw((socket) => drip(socket, 'HTTP/1.1 200 OK\r\n'.repeat(10), 50));
    const quick = await openRaw((socket) => socket.end(plain));
    const scope = openScope();
    const waiting = scope
      .request(ask(`http://origin.test:${slow.port}/`, { timeouts: { headers: 1_000 } }))
      .catch(() => 'slow');
    const first = scope.request(ask(`http://origin.test:${quick.port}/`)).then(({ body }) => readText(body));
    expect(await Promise.race([waiting, first])).toBe('ok');
    await waiting;
  });
});

function drip(
  socket: { write(text: string): boolean; destroyed: boolean },
  said: string,
  everyMs: number,
  size = 1,
): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at >= said.length || socket.destroyed) return clearInterval(timer);
    socket.write(said.slice(at, at + size));
    at += size;
  }, everyMs);
}
