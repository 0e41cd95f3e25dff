import { describe, expect, it } from 'vitest';
import { onwardHeaders, returnedHeaders } from './headers.ts';

function onward(headers: Record<string, string>): Record<string, string> | string {
  const told = onwardHeaders(headers);
  return told.kind === 'denied' ? told.reason : { ...told.headers };
}

/** Every place in which a text could end a header, or a head. */
const ends = ['\r\n', '\n', '\r', '\0', '\r\n\r\n', '\v', '\f', '\x7f', '\x1b', '\u010a', '\u010d', '\u2028', '\ud800'];

describe('headers of a request', () => {
  it('go on as they are', () => {
    const headers = {
      accept: '*/*',
      authorization: 'Bearer x',
      cookie: 'a=b; c=d',
      'content-type': 'text/plain; charset="utf-8"',
      'content-length': '12',
      'x-latin': 'caf\u00e9',
      'x-empty': '',
      'x-tab': 'a\tb',
      'sec-websocket-key': 'x',
      range: 'bytes=0-1',
      "!#$%&'*+.^_`|~-9": 'odd, and a name',
    };
    expect(onward(headers)).toEqual(headers);
    expect(onward({ 'X-Case': 'Kept' })).toEqual({ 'x-case': 'Kept' });
  });

  it.each([
    ...[
      'host',
      'Host',
      'connection',
      'keep-alive',
      'proxy-connection',
      'proxy-authorization',
      'Proxy-Anything',
      'te',
      'trailer',
    ],
    ...[
      'transfer-encoding',
      'upgrade',
      'http2-settings',
      'expect',
      'alt-used',
      'x-forwarded-host',
      'Forwarded',
      'glovebox-retry',
      'Glovebox-Upgrade',
      'glovebox-credential',
    ],
  ])('leave %s behind', (name) => {
    expect(onward({ [name]: 'x', accept: 'y' })).toEqual({ accept: 'y' });
  });

  it.each(['X-Original-URL', 'x-rewrite-url'])('are refused with %s, by which servers take another path', (name) => {
    expect(onward({ [name]: '/admin' })).toBe('HEADER_REFUSED');
    expect(onward({ [`${name}s`]: '/admin' })).toEqual({ [`${name}s`.toLowerCase()]: '/admin' });
  });

  it('tell of what methods servers take the request to be', () => {
    expect(onwardHeaders({ accept: 'x' })).toMatchObject({ methods: [] });
    const headers = {
      'X-HTTP-Method-Override': 'delete',
      'x-http-method': ' PUT',
      'x-method-override': 'PATCH,GET,PUT',
    };
    expect(onwardHeaders(headers)).toMatchObject({ methods: ['DELETE', 'PUT', 'PATCH', 'GET'] });
    for (const value of ['', 'DELETE x', 'DELETE,', '"DELETE"'])
      expect([value, onward({ 'x-http-method': value })]).toEqual([value, 'HEADER_REFUSED']);
  });

  it('leave behind what connection names, in any case', () => {
    expect(
      onward({ connection: 'close, X-Hop ,authorization,', 'x-hop': '1', authorization: '2', 'x-hope': '3' }),
    ).toEqual({ 'x-hope': '3' });
  });

  it.each(ends.flatMap((end) => [`a${end}`, `${end}a`, `a${end}host: evil`, end]))(
    'are refused with %j in a name or a value',
    (text) => {
      expect(onward({ 'x-a': text })).toBe('HEADER_REFUSED');
      expect(onward({ [text]: 'a' })).toBe('HEADER_REFUSED');
      // Also where the header would be left behind: somebody tries something.
      expect(onward({ 'glovebox-x': text })).toBe('HEADER_REFUSED');
    },
  );

  it.each([
    '',
    ' ',
    'a b',
    'a:',
    ':authority',
    'a(b',
    'a"',
    'a/b',
    'a@b',
    'a,b',
    'a;b',
    'a=b',
    '[a]',
    'é',
    '__proto__',
    'a'.repeat(257),
  ])('are refused with the name %j', (name) => {
    expect(onward(Object.fromEntries([[name, 'x']]))).toBe('HEADER_REFUSED');
  });

  it('are refused with one name in two spellings', () => {
    expect(onward({ 'X-A': '1', 'x-a': '2' })).toBe('HEADER_REFUSED');
    expect(onward({ 'Content-Length': '1', 'content-length': '2' })).toBe('HEADER_REFUSED');
  });

  it('say one thing about the body', () => {
    for (const length of ['-1', '+1', '1, 1', '1,2', '0x1', '1e1', '', ' 1', '9'.repeat(16), '1.0']) {
      expect(onward({ 'content-length': length })).toBe('HEADER_REFUSED');
    }
    expect(onward({ 'content-length': '5', 'transfer-encoding': 'chunked' })).toBe('HEADER_REFUSED');
    expect(onward({ 'transfer-encoding': 'chunked' })).toEqual({});
    expect(onward({ 'content-length': '0' })).toEqual({ 'content-length': '0' });
  });

  it.each(['a b', 'close\u00e9', 'a;b', '"x"'])('are refused with %j as connection', (value) => {
    expect(onward({ connection: value })).toBe('HEADER_REFUSED');
    expect(onward({ connection: 'close' })).toEqual({});
  });

  it('have no prototype that a name could reach', () => {
    const told = onwardHeaders({ constructor: 'a', tostring: 'b' });
    expect(told.kind === 'headers' && Object.getPrototypeOf(told.headers)).toBeNull();
    expect(onward({ constructor: 'a', tostring: 'b' })).toEqual({ constructor: 'a', tostring: 'b' });
  });
});

describe('headers of an answer', () => {
  it('come back without those of the connection, and none in our name or leading elsewhere', () => {
    expect({
      ...returnedHeaders({
        'Content-Type': 'text/plain',
        'content-length': '3',
        location: '/x',
        'set-cookie': 'a=b',
        'retry-after': '3',
        connection: 'keep-alive, x-hop',
        'keep-alive': 'timeout=5',
        'x-hop': '1',
        'transfer-encoding': 'chunked',
        trailer: 'x',
        upgrade: 'h2c',
        'proxy-authenticate': 'Basic',
        'alt-svc': 'h3=":443"',
        'glovebox-egress': 'denied',
        'Glovebox-Anything': 'x',
      }),
    }).toEqual({
      'content-type': 'text/plain',
      'content-length': '3',
      location: '/x',
      'set-cookie': 'a=b',
      'retry-after': '3',
    });
  });

  it.each(ends)('come back without one that has %j in it', (end) => {
    expect({ ...returnedHeaders({ 'x-a': `a${end}b`, [`x${end}b`]: 'a', 'x-c': 'd' }) }).toEqual({ 'x-c': 'd' });
  });

  it('come back with the first of one name in two spellings', () => {
    expect({ ...returnedHeaders({ 'X-A': '1', 'x-a': '2', 'x-b': '3' }) }).toEqual({ 'x-a': '1', 'x-b': '3' });
  });

  it('come back although connection is no list', () => {
    expect({ ...returnedHeaders({ connection: '"', 'x-a': '1' }) }).toEqual({ 'x-a': '1' });
  });
});
