import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, selfSigned, type TestCa } from '../test/ca.ts';
import {
  ask,
  closeDialers,
  emptyZone,
  failure,
  loopbackOnly,
  openDialer,
  openScope,
  read,
  readText,
  reasonOf,
} from '../test/dialing.ts';
import { closeOrigins, openHttp1, openHttp2, openRaw } from '../test/origins.ts';
import { openSilent } from '../test/silent.ts';
import type { Resolver } from './api.ts';
import { dialFailure } from './dial-failure.ts';
import { fixedResolver } from './resolver.ts';

let ca: TestCa;
beforeAll(() => {
  ca = makeCa();
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

const ok = (): Promise<Awaited<ReturnType<typeof openHttp1>>> =>
  openHttp1((_request, response) => void response.end('ok'));
const zone = (addresses: readonly string[]) => ({ resolver: fixedResolver({ 'origin.test': addresses }, emptyZone) });

describe('a name', () => {
  it.each([
    ['a private address', ['10.0.0.7']],
    ['the metadata of a cloud', ['169.254.169.254']],
    ['a public address and then a private one', ['127.0.0.1', '10.0.0.7']],
    ['a private address and then a public one', ['10.0.0.7', '127.0.0.1']],
    ['a public address and a private one of the other family', ['127.0.0.1', 'fd00::7']],
    ['an address that is written as another family', ['::ffff:10.0.0.7']],
  ])('is refused when it leads to %s', async (_what, addresses) => {
    const origin = await ok();
    const request = openScope(zone(addresses)).request(ask(`http://origin.test:${origin.port}/`));
    expect(await failure(request)).toMatchObject({ code: 'EGRESS_DENIED', reason: 'ADDRESS_NOT_PUBLIC' });
    expect(origin.connections).toBe(0);
  });

  it('is connected to when all of its addresses may be', async () => {
    const { port } = await ok();
    const answer = await openScope(zone(['127.0.0.1', '127.0.0.2'])).request(ask(`http://origin.test:${port}/`));
    expect(answer.address).toBe('127.0.0.1');
  });

  it('is looked up once for each connection, so that no second answer counts', async () => {
    const answers = [['127.0.0.1'], ['10.0.0.7']];
    const asked: string[] = [];
    const rebinding: Resolver = {
      resolve: (host, signal) => {
        asked.push(host);
        return fixedResolver({ [host]: answers.shift() ?? [] }, emptyZone).resolve(host, signal);
      },
    };
    const { port } = await ok();
    const scope = openScope({ resolver: rebinding });
    expect(await readText((await scope.request(ask(`http://origin.test:${port}/`))).body)).toBe('ok');
    expect(asked).toEqual(['origin.test']);
    expect(
      await reasonOf(
        openDialer({ resolver: rebinding })
          .scope('node', loopbackOnly)
          .request(ask(`http://origin.test:${port}/`)),
      ),
    ).toBe('ADDRESS_NOT_PUBLIC');
  });

  it('that nobody knows is not found', async () => {
    expect(await failure(openScope().request(ask('http://nobody.test/')))).toMatchObject({
      code: 'EGRESS_FAILED',
      reason: 'NAME_NOT_FOUND',
    });
    expect(await reasonOf(openScope(zone([])).request(ask('http://origin.test/')))).toBe('NAME_NOT_FOUND');
  });

  it('is given up when its look-up takes too long', async () => {
    const never: Resolver = { resolve: () => new Promise(() => {}) };
    const request = openScope({ resolver: never }).request(ask('http://origin.test/', { timeouts: { connect: 100 } }));
    expect(await failure(request)).toMatchObject({ code: 'EGRESS_TIMED_OUT', reason: 'CONNECT_TIMED_OUT' });
  });

  it('is told to no name server for a request that nobody waits for any more', async () => {
    const { port } = await ok();
    const asked: string[] = [];
    const resolver: Resolver = {
      resolve: async (host) => {
        asked.push(host);
        return [Uint8Array.of(127, 0, 0, 1)];
      },
    };
    const dialer = openDialer({ resolver });
    const scope = dialer.scope('node', loopbackOnly);
    expect(await readText((await scope.request(ask(`http://asked.test:${port}/`))).body)).toBe('ok');
    const given = { signal: AbortSignal.abort() };
    expect(await reasonOf(scope.request(ask(`http://given-up.test:${port}/`, given)))).toBe('CONNECTION_LOST');
    expect(await reasonOf(scope.upgrade(ask(`http://given-up.test:${port}/`, given)))).toBe('CONNECTION_LOST');
    scope.destroy();
    expect(await reasonOf(scope.request(ask(`http://ended.test:${port}/`)))).toBe('ATTEMPT_ENDED');
    dialer.destroy();
    const late = dialer.scope('node', loopbackOnly);
    expect(await reasonOf(late.request(ask(`http://late.test:${port}/`)))).toBe('ATTEMPT_ENDED');
    expect(asked).toEqual(['asked.test']);
  });

  it('is judged with the allowances of its request', async () => {
    const { port } = await ok();
    const scope = openDialer().scope('node', {
      judgeAddress: (_target, _address, allowances) =>
        allowances.length > 0
          ? { kind: 'allowed' }
          : { kind: 'refused', reason: 'ADDRESS_NOT_PUBLIC', rule: 'no', why: 'it is not.' },
    });
    const allowances = [{ id: 'one', cidrs: [], ports: [] }];
    const url = `http://origin.test:${port}/`;
    expect(await readText((await scope.request(ask(url, { allowances }))).body)).toBe('ok');
    // A connection is there, and this request has no right to it.
    const { error } = await failure(scope.request(ask(url)));
    expect(error.details).toEqual({ reason: 'ADDRESS_NOT_PUBLIC', rule: 'no', address: '127.0.0.1' });
  });
});

describe('an address in a URL', () => {
  it('is judged, and looked up nowhere', async () => {
    const { port } = await ok();
    const scope = openScope({ resolver: { resolve: () => Promise.reject(new Error('looked up')) } });
    expect(await readText((await scope.request(ask(`http://127.0.0.1:${port}/`))).body)).toBe('ok');
    expect(await reasonOf(scope.request(ask('http://10.0.0.7/')))).toBe('ADDRESS_NOT_PUBLIC');
    expect(await reasonOf(scope.request(ask('http://[::1]/')))).toBe('ADDRESS_NOT_PUBLIC');
  });
});

describe('addresses', () => {
  it('are tried in turn until one answers', async () => {
    const { port } = await ok();
    const answer = await openScope(zone(['127.0.0.9', '127.0.0.8', '127.0.0.1'])).request(
      ask(`http://origin.test:${port}/`),
    );
    expect(answer.address).toBe('127.0.0.1');
  });

  it('are passed over when they are silent', async () => {
    const { port } = await ok();
    const full = await openSilent('127.0.0.3', port);
    try {
      const answer = await openScope(zone(['127.0.0.3', '127.0.0.1'])).request(ask(`http://origin.test:${port}/`));
      expect(answer.address).toBe('127.0.0.1');
    } finally {
      await full.close();
    }
  });

  it('are asked of the fence one by one: none is tried after it has closed', async () => {
    const origin = await ok();
    const full = await openSilent('127.0.0.3', origin.port);
    try {
      const closesAtMs = performance.now() + 150;
      const fence = (): void => {
        if (performance.now() > closesAtMs) throw dialFailure('ATTEMPT_ENDED', 'it has ended.');
      };
      const scope = openScope(zone(['127.0.0.3', '127.0.0.1']));
      expect(await reasonOf(scope.request(ask(`http://origin.test:${origin.port}/`, { fence })))).toBe('ATTEMPT_ENDED');
      expect(origin.connections).toBe(0);
    } finally {
      await full.close();
    }
  });

  it('that are all silent end with the deadline of the connection', async () => {
    const full = await openSilent('127.0.0.3', 0);
    try {
      const request = openScope(zone(['127.0.0.3'])).request(
        ask(`http://origin.test:${full.port}/`, { timeouts: { connect: 600 } }),
      );
      expect(await reasonOf(request)).toBe('CONNECT_TIMED_OUT');
    } finally {
      await full.close();
    }
  });

  it('where nobody listens refuse', async () => {
    const { port, close } = await ok();
    await close();
    expect(await failure(openScope().request(ask(`http://origin.test:${port}/`)))).toMatchObject({
      code: 'EGRESS_FAILED',
      reason: 'CONNECTION_REFUSED',
    });
  });
});

describe('TLS', () => {
  it.each([
    ['a certificate for another name', () => ca.issue(['DNS:other.test'])],
    ['a certificate for sub-domains alone', () => ca.issue(['DNS:*.origin.test'])],
    ['a certificate that has expired', () => ca.issue(['DNS:origin.test'], -1)],
    ['a certificate that it made itself', () => selfSigned(['DNS:origin.test'])],
    ['a certificate of another authority', () => makeCa().issue(['DNS:origin.test'])],
  ])('is refused with %s', async (_what, identity) => {
    const origin = await openHttp2((_request, response) => void response.end('ok'), identity());
    const request = openScope({ extraCa: [ca.cert] }).request(ask(`https://origin.test:${origin.port}/`));
    expect(await failure(request)).toMatchObject({ code: 'EGRESS_FAILED', reason: 'TLS_FAILED' });
    expect(origin.seen).toEqual([]);
  });

  it('is agreed on with a certificate for the name, by whoever knows its authority', async () => {
    const origin = await openHttp1((_request, response) => void response.end('ok'), ca.issue(['DNS:origin.test']));
    const url = `https://origin.test:${origin.port}/`;
    expect(await readText((await openScope({ extraCa: [ca.cert] }).request(ask(url))).body)).toBe('ok');
    expect(await reasonOf(openScope().request(ask(url)))).toBe('TLS_FAILED');
    expect(await reasonOf(openScope({ extraCa: [makeCa().cert] }).request(ask(url)))).toBe('TLS_FAILED');
  });

  it('is checked whatever the environment says', async () => {
    const origin = await openHttp1((_request, response) => void response.end('ok'), selfSigned(['DNS:origin.test']));
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await reasonOf(openScope().request(ask(`https://origin.test:${origin.port}/`)))).toBe('TLS_FAILED');
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  it('checks an address by the addresses of the certificate, and sends none by SNI', async () => {
    const origin = await openHttp1((_request, response) => void response.end('ok'), ca.issue(['IP:127.0.0.1']));
    const scope = openScope({ extraCa: [ca.cert] });
    expect(await readText((await scope.request(ask(`https://127.0.0.1:${origin.port}/`))).body)).toBe('ok');
    expect(origin.serverNames).toEqual([false]);
    const named = await openHttp1((_request, response) => void response.end('ok'), ca.issue(['DNS:origin.test']));
    expect(await reasonOf(scope.request(ask(`https://127.0.0.1:${named.port}/`)))).toBe('TLS_FAILED');
  });

  it('is refused below 1.2', async () => {
    const old = {
      ...ca.issue(['DNS:origin.test']),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    };
    const origin = await openHttp1((_request, response) => void response.end('ok'), old);
    expect(await reasonOf(openScope({ extraCa: [ca.cert] }).request(ask(`https://origin.test:${origin.port}/`)))).toBe(
      'TLS_FAILED',
    );
  });

  it.each([
    ['once', 0, 'ok'],
    ['and not again when the origin wants to', 1, 'CONNECTION_LOST'],
  ])('shakes hands %s', async (_what, again, outcome) => {
    let shaken = 0;
    const identity = { ...ca.issue(['DNS:origin.test']), maxVersion: 'TLSv1.2' };
    const origin = await openRaw((socket) => {
      const answer = (): void => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      if (again === 0) return answer();
      (socket as TLSSocket).renegotiate({ requestCert: false }, (error) => {
        if (error === null) shaken++;
        answer();
      });
    }, identity);
    const request = openScope({ extraCa: [ca.cert] }).request(ask(`https://origin.test:${origin.port}/`));
    expect(
      await request.then(
        ({ body }) => readText(body),
        (error) => error.details.reason,
      ),
    ).toBe(outcome);
    expect(shaken).toBe(0);
  });

  it('takes up no session again', async () => {
    const identity = ca.issue(['DNS:origin.test']);
    const reused: boolean[] = [];
    const origin = await openHttp1((request, response) => {
      reused.push((request.socket as unknown as { isSessionReused(): boolean }).isSessionReused());
      response.setHeader('connection', 'close').end('ok');
    }, identity);
    const scope = openScope({ extraCa: [ca.cert] });
    for (let nth = 0; nth < 3; nth++)
      await read((await scope.request(ask(`https://origin.test:${origin.port}/`))).body);
    expect(reused).toEqual([false, false, false]);
  });

  it.each([
    ['closes', 'CONNECTION_LOST'],
    ['says something else', 'TLS_FAILED'],
  ])('fails when the other side %s', async (what, reason) => {
    const { port } = await openRaw((socket) =>
      what === 'closes' ? socket.destroy() : socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    expect(await reasonOf(openScope().request(ask(`https://origin.test:${port}/`)))).toBe(reason);
  });

  it('has to be agreed on within the deadline of the connection', async () => {
    const { port } = await openRaw(() => {});
    const request = openScope().request(ask(`https://origin.test:${port}/`, { timeouts: { connect: 200 } }));
    expect(await reasonOf(request)).toBe('CONNECT_TIMED_OUT');
  });
});
