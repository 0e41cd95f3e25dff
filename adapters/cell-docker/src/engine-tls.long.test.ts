import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import type { EngineTls } from '../../../test/support/docker-engine-tls.ts';
import type { EngineAddress } from './engine-address.ts';
import { createEngineClient } from './engine-client.ts';

let engine: DockerEngine;
let bench: DockerBench;
let door: EngineTls;
/** The same door at an address that the engine has no certificate for. */
let side: net.Server;
beforeAll(async () => {
  engine = await startDockerEngine({ tls: true });
  door = engine.tls as EngineTls;
  bench = openDockerBench({ engine: addressOf({}), runtime: 'runc' });
  side = net.createServer((outside) => {
    const inside = net.connect(door.port, door.host);
    for (const socket of [outside, inside]) socket.on('error', () => [outside, inside].map((one) => one.destroy()));
    outside.pipe(inside).pipe(outside);
  });
  side.listen(0, '127.0.0.2');
  await once(side, 'listening');
});
afterAll(async () => {
  side.close();
  bench.remove();
  await engine.stop();
});

const addressOf = (more: { host?: string; port?: number; ca?: string; cert?: string; key?: string }): EngineAddress => {
  const { host, port, ca, cert, key } = { ...door, ...more };
  return { host, port, tls: { ca, cert, key } };
};
const ask = (address: EngineAddress) =>
  createEngineClient(address).call({ method: 'GET', path: '/version', answers: [200], deadlineMs: 5_000 });
const refusal = (address: EngineAddress) =>
  ask(address).then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown as Error,
  );

describe('an engine over TLS', () => {
  it('boots cells for whoever has a certificate, by its address', async () => {
    const cell = await bench.boot();
    cell.run('say(6 * 7)');
    expect(await cell.heard()).toBe(42);
    cell.kill('done');
    const end = await cell.ended;
    expect(end).toMatchObject({ cause: 'done' });
    expect(end.error).toBeUndefined();
  });

  it('is spoken to by its name too', async () => {
    expect((await ask(addressOf({ host: 'localhost' }))).status).toBe(200);
  });

  it('is not believed under an address that its certificate does not name, whatever other names it has', async () => {
    const { port } = side.address() as AddressInfo;
    const thrown = await refusal(addressOf({ host: '127.0.0.2', port }));
    expect(thrown).toMatchObject({ code: 'ENGINE_UNREACHABLE' });
    expect(thrown.message).toBe(
      `The container engine at tcp://127.0.0.2:${port} cannot be reached: its certificate is for another name.`,
    );
  });

  it('is not believed with a certificate of another authority', async () => {
    const thrown = await refusal(addressOf({ ca: door.stranger.cert }));
    expect(thrown).toMatchObject({
      code: 'ENGINE_UNREACHABLE',
      message: expect.stringMatching(/: its certificate is not of the authority that is configured for it\.$/),
    });
  });

  it('does not take a certificate of nobody, and that is told in words', async () => {
    const thrown = await refusal(addressOf(door.stranger));
    expect(thrown).toMatchObject({
      code: 'ENGINE_UNREACHABLE',
      message: expect.stringMatching(/: it does not take our certificate\.$/),
    });
    const driver = bench.open({ engine: addressOf(door.stranger) });
    await expect(bench.boot({}, driver)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
    expect(await bench.driver.gauges()).toMatchObject({ cells: 0, uidClaims: 0 });
  });

  it('answers nothing to what speaks no TLS, and what speaks none is not taken for one', async () => {
    const plain = net.connect(door.port, door.host);
    plain.write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n');
    const said = Buffer.concat(await plain.toArray()).toString('latin1');
    expect(said).not.toMatch(/ApiVersion/);
    const listener = net.createServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const thrown = await refusal(addressOf({ port: (listener.address() as AddressInfo).port }));
    expect(thrown).toMatchObject({
      code: 'ENGINE_UNREACHABLE',
      message: expect.stringMatching(/: it does not speak TLS\.$/),
    });
    listener.close();
  });

  it.each([
    ['no authority', { ca: 'none' }, 'authority'],
    ['no certificate', { cert: 'none' }, 'our certificate'],
    ['no key', { key: 'none' }, 'key'],
    ['the key of another', () => ({ key: door.stranger.key }), 'key'],
  ])('is not asked at all with %s', (_, more, words) => {
    const address = addressOf(typeof more === 'function' ? more() : more);
    expect(() => createEngineClient(address)).toThrow(
      expect.objectContaining({ code: 'ENGINE_UNREACHABLE', message: expect.stringContaining(words) }) as Error,
    );
  });
});
