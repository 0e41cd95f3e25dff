import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  constants as zlib,
  zstdCompressSync,
} from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeDialers, failure, openScope, read, readText, reasonOf } from '../test/dialing.ts';
import { closeOrigins, openHttp1 } from '../test/origins.ts';
import { decodeBody, readEncodings } from './decode-body.ts';
import { openWideDecoders } from './wide-decoders.ts';

afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

const text = 'what was said, '.repeat(20_000);
const packers: { [name: string]: (bytes: Buffer) => Buffer } = {
  gzip: (bytes) => gzipSync(bytes),
  'x-gzip': (bytes) => gzipSync(bytes),
  GZip: (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes, { params: { [zlib.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes) => zstdCompressSync(bytes),
};
function pack(encoding: string): Buffer {
  let bytes = Buffer.from(text);
  for (const name of encoding.split(', ')) bytes = Buffer.from(packers[name]?.(bytes) ?? bytes);
  return bytes;
}

async function answering(encoding: string, body: Buffer, status = 200) {
  const { port } = await openHttp1((_request, response) => {
    response.writeHead(status, { 'content-encoding': encoding, 'content-length': body.byteLength }).end(body);
  });
  return openScope().request(ask(`http://origin.test:${port}/`));
}

describe('an encoded answer', () => {
  it.each([...Object.keys(packers), 'gzip, br', 'zstd, gzip', 'identity', 'gzip, identity'])(
    'is decoded: %s',
    async (encoding) => {
      const { headers, body } = await answering(encoding, pack(encoding));
      expect(await readText(body)).toBe(text);
      if (encoding !== 'identity') expect(Object.keys(headers)).not.toContain('content-encoding');
      if (encoding !== 'identity') expect(Object.keys(headers)).not.toContain('content-length');
    },
  );

  it('is decoded where deflate is the bare format, and where gzip has several members', async () => {
    expect(await readText((await answering('deflate', deflateRawSync(text))).body)).toBe(text);
    const members = Buffer.concat([gzipSync('one '), gzipSync('two')]);
    expect(await readText((await answering('gzip', members)).body)).toBe('one two');
  });

  it('may be empty', async () => {
    expect(await readText((await answering('gzip', Buffer.alloc(0))).body)).toBe('');
  });

  it.each([
    'compress',
    'gzip, unknown',
    'gzip, gzip, gzip',
    'aes128gcm',
    Array(1000).fill('gzip').join(', '),
    'gzip;q=1',
  ])('is refused before its body: %#', async (encoding) => {
    const answer = answering(encoding, gzipSync(text));
    expect(await failure(answer)).toMatchObject({ code: 'EGRESS_FAILED', reason: 'ENCODING_REFUSED' });
  });

  it('is refused where it is a part of something', async () => {
    expect(await reasonOf(answering('gzip', gzipSync(text), 206))).toBe('ENCODING_REFUSED');
    expect(await readText((await answering('identity', Buffer.from('a part'), 206)).body)).toBe('a part');
  });

  it.each(['gzip', 'deflate', 'br', 'zstd'])('is broken where it ends too early: %s', async (encoding) => {
    const packed = pack(encoding);
    const { body } = await answering(encoding, packed.subarray(0, packed.byteLength - 5));
    expect(await failure(read(body))).toMatchObject({ code: 'EGRESS_FAILED', reason: 'ENCODING_BROKEN' });
  });

  it.each(['gzip', 'deflate', 'br', 'zstd'])('is broken where it is something else: %s', async (encoding) => {
    const { body } = await answering(encoding, Buffer.from('\xff\xff nothing of the kind'.repeat(10), 'latin1'));
    expect(await reasonOf(read(body))).toBe('ENCODING_BROKEN');
  });

  it('is lost, not broken, where the connection breaks in it', async () => {
    const { port } = await openHttp1((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(gzipSync(text).subarray(0, 100), () => response.destroy());
    });
    const { body } = await openScope().request(ask(`http://origin.test:${port}/`));
    expect(await reasonOf(read(body))).toBe('CONNECTION_LOST');
  });
});

describe('a small body that becomes a large one', () => {
  /** Ten gigabytes in ten megabytes, made as it is read. */
  async function* bomb(counted: { bytes: number }): AsyncGenerator<Uint8Array> {
    const member = gzipSync(Buffer.alloc(10_000_000));
    for (let nth = 0; nth < 1000; nth++) {
      counted.bytes += member.byteLength;
      yield member;
    }
  }
  const bombWith = (counted: { bytes: number; cancelled: number }) =>
    Object.assign({ [Symbol.asyncIterator]: () => bomb(counted) }, { cancel: () => void counted.cancelled++ });

  it('comes in small chunks, and stops when its reader does', async () => {
    const counted = { bytes: 0, cancelled: 0 };
    let size = 0;
    for await (const chunk of decodeBody(bombWith(counted), ['gzip'], 'x', openWideDecoders())) {
      expect(chunk.byteLength).toBeLessThanOrEqual(64 * 1024);
      size += chunk.byteLength;
      if (size > 20_000_000) break;
    }
    // Two members were needed; none beyond the next few was read.
    expect(counted.bytes).toBeLessThan(10 * gzipSync(Buffer.alloc(10_000_000)).byteLength);
    expect(counted.cancelled).toBe(1);
    const usedBefore = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { user, system } = process.cpuUsage(usedBefore);
    expect((user + system) / 1000).toBeLessThan(150);
  });

  it('waits while its reader waits', async () => {
    const counted = { bytes: 0, cancelled: 0 };
    const reader = decodeBody(bombWith(counted), ['gzip'], 'x', openWideDecoders())[Symbol.asyncIterator]();
    await reader.next();
    const member = counted.bytes;
    const before = process.memoryUsage.rss();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(counted.bytes).toBeLessThanOrEqual(3 * member);
    expect(process.memoryUsage.rss() - before).toBeLessThan(32 * 1024 * 1024);
    await reader.return?.();
  });

  it('of zstd may not want more memory than 8 MiB', async () => {
    const wide = zstdCompressSync(Buffer.alloc(40_000_000), {
      params: { [zlib.ZSTD_c_windowLog]: 26, [zlib.ZSTD_c_compressionLevel]: 1 },
    });
    const fits = zstdCompressSync(Buffer.alloc(4_000_000), { params: { [zlib.ZSTD_c_windowLog]: 22 } });
    expect(await reasonOf(read((await answering('zstd', wide)).body))).toBe('ENCODING_BROKEN');
    expect(await read((await answering('zstd', fits)).body)).toHaveLength(4_000_000);
  });
});

describe('many packed answers at once', () => {
  const forty = brotliCompressSync(Buffer.alloc(40_000_000, 'x'), { params: { [zlib.BROTLI_PARAM_LGWIN]: 24 } });

  /** Waits until that many requests are there, and answers them all, with what each may have. */
  async function together(count: number, packing: (accepted: string) => 'br' | 'gzip') {
    const waiting: (() => void)[] = [];
    const accepted: string[] = [];
    const { port } = await openHttp1((request, response) => {
      const asked = String(request.headers['accept-encoding']);
      accepted.push(asked);
      const encoding = packing(asked);
      response.setHeader('content-encoding', encoding);
      waiting.push(() => response.end(encoding === 'br' ? forty : gzipSync('x')));
      if (waiting.length >= count) for (const answer of waiting.splice(0)) answer();
    });
    const scope = openScope();
    const ones = Array.from({ length: count }, () => scope.request(ask(`http://origin.test:${port}/`)));
    return { answers: await Promise.allSettled(ones), accepted, scope, url: `http://origin.test:${port}/` };
  }

  it('are asked for in what takes much memory only by a few of them, and again when those are through', async () => {
    const { answers, accepted, scope, url } = await together(20, (asked) => (asked.includes('br') ? 'br' : 'gzip'));
    expect(accepted.filter((asked) => asked === 'gzip, deflate, br, zstd')).toHaveLength(8);
    expect(accepted.filter((asked) => asked === 'gzip, deflate')).toHaveLength(12);
    const readers = answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value.body[Symbol.asyncIterator]();
    });
    const before = process.memoryUsage.rss();
    for (const reader of readers) expect((await reader.next()).value?.byteLength).toBeGreaterThan(0);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    // Eight decoders are open, and none of them is at its end.
    void scope.request(ask(url)).catch(() => {});
    await expect.poll(() => accepted[20]).toBe('gzip, deflate');
    for (const reader of readers) await reader.return?.();
    void scope.request(ask(url)).catch(() => {});
    await expect.poll(() => accepted[21]).toBe('gzip, deflate, br, zstd');
  });

  it('are refused where they take much memory and were not asked for so', async () => {
    const { answers } = await together(20, () => 'br');
    const refused = answers.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(12);
    for (const answer of refused) expect(answer).toMatchObject({ reason: { details: { reason: 'ENCODING_REFUSED' } } });
  });
});

it('is broken where it goes on and becomes nothing', async () => {
  const nothing = Buffer.concat(Array(20_000).fill(Buffer.of(0, 0, 0, 0xff, 0xff)));
  const { port } = await openHttp1((request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.write(gzipSync('').subarray(0, 10));
    const timer = setInterval(() => response.write(nothing), 5);
    response.on('close', () => clearInterval(timer));
    // As much of it as a stream that is flushed now and then may have.
    if (request.url === '/some') setTimeout(() => response.end(gzipSync('some').subarray(10)), 30);
    if (request.url === '/some') setTimeout(() => clearInterval(timer), 20);
  });
  const scope = openScope();
  const { body } = await scope.request(ask(`http://origin.test:${port}/some`));
  expect(await readText(body)).toBe('some');
  const endless = await scope.request(ask(`http://origin.test:${port}/`));
  expect(await failure(read(endless.body))).toMatchObject({ code: 'EGRESS_FAILED', reason: 'ENCODING_BROKEN' });
});

it('knows no encoding in an absent or an empty header', () => {
  expect(readEncodings(undefined, 'x')).toEqual([]);
  expect(readEncodings(' , identity', 'x')).toEqual([]);
});
