import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attempting, gains, type Outcomes } from '../support/attempts.ts';
import { useEngine } from '../support/use-engine.ts';
import { settle, waysOut } from '../support/ways-out.ts';
import { withoutFlags } from '../support/without-flags.ts';

const cells = useEngine();
const open = useEngine(withoutFlags);

/** Listeners of the host that a run must not reach, and every byte and connection that they got. */
const heard: string[] = [];
const dir = mkdtempSync(join(tmpdir(), 'glovebox-listeners-'));
const abstractName = `glovebox-test-${process.pid}`;
const servers: Server[] = [];
const udp = createSocket('udp4');
let ports: { tcp: number; udp: number };

async function listen(where: string | { port: number; host: string }): Promise<Server> {
  const server = createServer((socket) => {
    heard.push(`a connection to ${JSON.stringify(where)}`);
    socket.on('error', () => undefined);
    socket.end('from the host');
  });
  servers.push(server);
  server.listen(where);
  await once(server, 'listening');
  return server;
}

beforeAll(async () => {
  const server = await listen({ port: 0, host: '0.0.0.0' });
  await listen(join(dir, 'host.sock'));
  await listen(`\0${abstractName}`);
  udp.on('message', () => heard.push('a datagram'));
  udp.bind(0);
  await once(udp, 'listening');
  ports = { tcp: (server.address() as AddressInfo).port, udp: udp.address().port };
});
afterAll(() => {
  for (const server of servers) server.close();
  udp.close();
  rmSync(dir, { recursive: true });
});

/** Ways to be reached. */
const waysIn: Record<string, string> = {
  'a TCP server': `return await settle(builtin('net').createServer().listen(0), 'listening')`,
  'a server on a unix path': `return await settle(builtin('net').createServer().listen('/tmp/server.sock'), 'listening')`,
  'a server on an abstract name': `return await settle(builtin('net').createServer().listen('\\0server'), 'listening')`,
  'a server on the channel': `return await settle(builtin('net').createServer().listen({ fd: 3 }), 'listening')`,
  'an HTTP server': `return await settle(builtin('http').createServer().listen(0), 'listening')`,
  'a datagram server': `const s = builtin('dgram').createSocket('udp4'); return await new Promise((done, fail) => s.on('error', fail).bind(0, () => done('bound')))`,
  'an inspector': `builtin('inspector').open(0, '127.0.0.1'); const url = builtin('inspector').url(); if (!url) throw { code: 'NOT_OPEN' }; return url`,
  'an inspector by a signal': `process.kill(process.pid, 'SIGUSR1'); await ctx.clock.sleep(100); const url = builtin('inspector').url(); if (!url) throw { code: 'NOT_OPEN' }; return url`,
};

/** With Node.js's own refusal this one throws where no code of the node can catch it. */
const withoutFlagsOnly: Record<string, string> = {
  'a TCP server on lo': `return await settle(builtin('net').createServer().listen(0, '127.0.0.1'), 'listening')`,
};

function input() {
  const address = readFileSync('/proc/net/fib_trie', 'utf8').match(/\d+\.\d+\.\d+\.\d+(?=\n\s+\/32 host LOCAL)/g) ?? [];
  return {
    ...ports,
    path: join(dir, 'host.sock'),
    abstractName,
    address: address.find((text) => !text.startsWith('127.')) ?? '127.0.0.2',
  };
}

describe('without a network capability', () => {
  it('no call reaches anything or listens, whether or not Node.js helps to refuse it', async () => {
    for (const [engine, attempts] of [
      [cells, { ...waysOut, ...waysIn }],
      [open, { ...waysOut, ...waysIn, ...withoutFlagsOnly }],
    ] as const) {
      const source = attempting(attempts, `const settle = ${settle};`);
      const result = await engine().run({ ...source, manifest: { resources: { timeout: '60s' } } }, { input: input() });
      // The two by fetch: the host was asked, and said no.
      expect(result).toMatchObject({ state: 'SUCCEEDED', error: null, egressRequests: 2 });
      expect(Object.keys(result.output as object)).toEqual(Object.keys(attempts));
      expect(gains(result.output)).toEqual({});
    }
    expect(heard).toEqual([]);
  });

  it('the listeners hear those who are outside of a cell', async () => {
    for (const where of [{ port: ports.tcp, host: '127.0.0.1' }, join(dir, 'host.sock'), `\0${abstractName}`]) {
      const socket = typeof where === 'string' ? connect(where) : connect(where);
      const chunks: string[] = [];
      socket.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
      await once(socket, 'close');
      expect(chunks.join('')).toBe('from the host');
    }
    const socket = createSocket('udp4');
    const arrived = once(udp, 'message');
    socket.send('from outside', ports.udp, '127.0.0.1');
    await arrived;
    socket.close();
    expect(heard).toHaveLength(4);
    expect(heard).toContain('a datagram');
  });

  it('what a node calls says at once that it may not', async () => {
    const { output } = await cells().run(
      attempting({
        fetch: `try { await fetch('https://example.com') } catch (error) { throw error.cause }`,
        'ctx.fetch': `await ctx.fetch('https://example.com')`,
        'ctx.credentials.has': `return ctx.credentials.has('api')`,
        'ctx.credentials.reveal': `await ctx.credentials.reveal('api')`,
      }),
    );
    expect(output as unknown as Outcomes).toEqual({
      fetch: 'EGRESS_DENIED',
      'ctx.fetch': 'EGRESS_DENIED',
      'ctx.credentials.has': 'NOT_AVAILABLE_YET',
      'ctx.credentials.reveal': 'NOT_AVAILABLE_YET',
    });
  });

  it('there is no socket in the file tree, none in the tables of the kernel, and no route', async () => {
    const { output } = await open().run({
      top: `import fs from 'node:fs';`,
      body: `
        const sockets = [];
        const walk = (dir) => {
          let names = []; try { names = fs.readdirSync(dir); } catch { return; }
          for (const name of names) {
            const path = dir + '/' + name;
            let stat; try { stat = fs.lstatSync(path); } catch { continue; }
            if (stat.isSocket() || stat.isFIFO()) sockets.push(path);
            if (stat.isDirectory() && path !== '/proc') walk(path);
          }
        };
        walk('');
        const lines = (name) => { try { return fs.readFileSync('/proc/self/net/' + name, 'utf8').trim().split('\\n').slice(1) } catch (e) { return e.code } };
        return { sockets, unix: lines('unix'), tcp: lines('tcp'), udp: lines('udp'), routes: lines('route'), devices: lines('dev').slice(1).map((line) => line.split(':')[0].trim()), interfaces: (() => { try { return Object.keys(process.getBuiltinModule('os').networkInterfaces()) } catch { return [] } })() };`,
    });
    expect(output).toEqual({ sockets: [], unix: [], tcp: [], udp: [], routes: [], devices: ['lo'], interfaces: [] });
  });

  it('a socket that one run tries to leave is not there in the next', async () => {
    const leave = `const server = builtin('net').createServer(); return await settle(server.listen('/tmp/left.sock'), 'listening')`;
    const look = `return fs.existsSync('/tmp/left.sock')`;
    const node = attempting({ look, leave }, `const settle = ${settle};`);
    for (let n = 0; n < 2; n++) {
      expect((await open().run(node)).output).toEqual({ look: { got: false }, leave: 'EPERM' });
    }
  });
});
