import { expect, it } from 'vitest';
import { mayBeHttp, parseRequestHead } from './request-head.ts';

const origin = { scheme: 'https', host: 'api.test', port: 443 } as const;
const parse = (...lines: string[]) => parseRequestHead(lines.join('\r\n'), origin);
const codeOf = (action: () => unknown): unknown => {
  try {
    action();
    return 'taken';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it('takes a request to where its connection leads, with the headers that go on', () => {
  const { head, framing, keepAlive, websocket } = parse(
    'GET /a/../b?c HTTP/1.1',
    'Host: other.test',
    'Connection: keep-alive, X-Hop',
    'X-Hop: 1',
    'X-Empty:',
    'Accept: a',
    'accept:\tb ',
    'Cookie: a=1',
    'Cookie: b=2',
  );
  expect(head).toEqual({
    method: 'GET',
    url: 'https://api.test:443/a/../b?c',
    headers: { 'x-empty': '', accept: 'a, b', cookie: 'a=1; b=2' },
  });
  expect([framing, keepAlive, websocket]).toEqual([{ kind: 'none' }, true, false]);
});

it('reads where the body ends, and refuses two readings of it', () => {
  const post = (...fields: string[]) => parse('POST / HTTP/1.1', ...fields).framing;
  expect(post('Content-Length: 12')).toEqual({ kind: 'length', left: 12 });
  expect(post('Transfer-Encoding: Chunked')).toEqual({ kind: 'chunked' });
  expect(post()).toEqual({ kind: 'none' });
  for (const fields of [
    ['Content-Length: 12', 'Content-Length: 13'],
    ['Content-Length: 12', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: gzip, chunked'],
    ['Content-Length: +1'],
    ['Content-Length: 0x1'],
    ['Content-Length: 1 2'],
  ]) {
    expect(codeOf(() => post(...fields))).toBe('EGRESS_DENIED');
  }
});

it('refuses fields that are none, so that no line becomes two', () => {
  for (const field of ['no colon', ' folded: x', 'sp ace: x', ': x', 'a\rb: x', 'a: b\rc']) {
    expect([field, codeOf(() => parse('GET / HTTP/1.1', 'ok: 1', field))]).toEqual([field, 'EGRESS_DENIED']);
  }
  expect(codeOf(() => parse('GET / HTTP/1.1', 'ok: 1'))).toBe('taken');
});

it('names what it refuses without the query, which may hold a secret, and says what would do', () => {
  const told = (...lines: string[]): { message: string; hint?: string } => {
    try {
      parse(...lines);
    } catch (error) {
      return error as { message: string; hint?: string };
    }
    throw new Error('taken');
  };
  for (const lines of [
    ['GET /a?SECRET HTTP/1.1', 'no colon'],
    ['GET /a?SECRET#part HTTP/1.1'],
    ['PUT /a?SECRET HTTP/1.1', 'content-length: x'],
    ['PUT /a?SECRET HTTP/1.1', 'content-length: 1', 'transfer-encoding: chunked'],
  ]) {
    expect(told(...lines)).toMatchObject({ message: expect.stringContaining('/a'), hint: expect.stringMatching(/./) });
    expect(told(...lines).message).not.toContain('SECRET');
  }
  expect(told('GET http://u:SECRET@evil.test/?SECRET HTTP/1.1').message).not.toContain('SECRET');
});

it('does not serve as a proxy', () => {
  for (const line of [
    'GET http://evil.test/ HTTP/1.1',
    'CONNECT evil.test:443 HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET //evil.test@x HTTP/2.0',
  ]) {
    expect([line, codeOf(() => parse(line))]).toEqual([line, 'CELL_HTTP_ONLY']);
  }
  expect(parse('GET //evil.test/x HTTP/1.1').head.url).toBe('https://api.test:443//evil.test/x');
});

it('tells a WebSocket, and keeps what is about the connection from the host', () => {
  const { head, websocket } = parse(
    'GET /s HTTP/1.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: k',
  );
  expect([websocket, head.headers]).toEqual([true, { 'sec-websocket-key': 'k', 'glovebox-upgrade': 'websocket' }]);
  expect(parse('GET /s HTTP/1.1', 'Connection: Upgrade', 'Upgrade: h2c').websocket).toBe(false);
});

it('knows by the first bytes what can be no request', () => {
  const http = ['', 'G', 'GET ', 'GET /a HTT', 'POST /x HTTP/1.1\r\nHost', 'M-SEARCH / HTTP/1.0\r\n'];
  const other = [
    'PRI * HTTP/2.0\r\n\r\n',
    '\x16\x03\x01',
    '\0\0\0\x08',
    '*1\r\n',
    'EHLO x\r\n',
    'get / HTTP/1.1\r\n',
    'GET / HTTP/1.1\n',
  ];
  expect(http.filter((text) => !mayBeHttp(Buffer.from(text, 'latin1')))).toEqual([]);
  expect(other.filter((text) => mayBeHttp(Buffer.from(text, 'latin1')))).toEqual([]);
});
