import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Cell, type CellEnd, planHash, planRunCell } from '@glovebox/cell';
import {
  type CelldRequest,
  celldLineBytes,
  celldRequestSchema,
  decodeCelldLine,
  encodeCelldLine,
  readLine,
} from '@glovebox/cell/celld-protocol';
import { type Digest, newCellId } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCelldDriver } from './driver.ts';

/** The other end of the protocol, with nothing behind it: it says what a celld that fails would say, when it is told to. */
const home = mkdtempSync(join(tmpdir(), 'glovebox-wrong-celld-'));
const path = join(home, 'celld.sock');
const MiB = 1024 * 1024;
const limits = { cpu: 1, memoryBytes: 128 * MiB, pids: 64, timeoutMs: 30_000, scratchBytes: MiB };
const plan = planRunCell(
  `sha256:${'0'.repeat(64)}` as Digest,
  {
    ...limits,
    outputBytes: MiB,
    logBytes: MiB,
    filesBytes: 0,
    filesCount: 0,
  },
  'ns',
);
const end: CellEnd = {
  cause: 'self',
  exit: { code: 0, signal: null },
  pidsLimitHit: false,
  peakMemoryBytes: 1,
  peakPids: 1,
  teardownMs: 1,
};

let facts = { driver: 'oci', runtime: 'crun', runtimeVersion: '1', planHash: '', properties: [], acceptedRisks: [] };
let sockets: Map<string, Socket>;
const all = new Set<Socket>();
const server = createServer({ allowHalfOpen: true }, (socket) => {
  all.add(socket);
  void serve(socket);
});

async function serve(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  const line = await readLine(socket, celldLineBytes.request);
  if (line === undefined) return;
  const request = decodeCelldLine(line, celldLineBytes.request, celldRequestSchema) as CelldRequest;
  socket.resume();
  if (request.open === 'cell') {
    sockets.set('control', socket);
    socket.write(encodeCelldLine({ opened: {} }) + encodeCelldLine({ booted: facts }));
  } else if (request.open === 'stream') {
    sockets.set(request.stream, socket);
    socket.write(encodeCelldLine({ attached: {} }));
  } else if (request.open === 'inspect') {
    socket.end(encodeCelldLine({ error: { code: 'CELLD_FULL', message: 'Too many.' } }));
  }
}

beforeEach(async () => {
  sockets = new Map();
  facts = { ...facts, planHash: planHash(plan) };
  await new Promise<void>((resolve) => server.listen(path, resolve));
});
afterEach(async () => {
  for (const socket of all) socket.destroy();
  all.clear();
  await new Promise((resolve) => server.close(resolve));
  rmSync(path, { force: true });
});

const driver = createCelldDriver({ socketPath: path });
const boot = (): Promise<Cell> => driver.boot(plan, newCellId());
const say = (text: string): void => void sockets.get('control')?.write(text);
const kill = (): void => {
  for (const socket of sockets.values()) socket.destroy();
};

describe('a cell of celld', () => {
  it('is refused where it is of another plan than that which was sent, and taken where it is of that', async () => {
    await boot();
    facts = { ...facts, planHash: planHash({ ...plan, role: 'probe' }) };
    await expect(boot()).rejects.toMatchObject({ code: 'CELLD_PROTOCOL' });
  });

  it.each<[string, () => void]>([
    ['breaks off', () => {}],
    ['breaks off in the middle of a line', () => say('{"ended":{"cause":"se')],
    ['says what is no line of its protocol', () => say('hello\n')],
    ['says what is not due', () => say(encodeCelldLine({ opened: {} }))],
    ['answers a dispatch that was not asked for', () => say(encodeCelldLine({ dispatched: {} }))],
    ['says an error', () => say(encodeCelldLine({ error: { code: 'CELLD_PROTOCOL', message: 'No.' } }))],
  ])('is lost where celld %s', async (_what, act) => {
    const cell = await boot();
    act();
    setImmediate(kill);
    expect(await cell.ended).toMatchObject({ error: { code: 'CELL_LOST' } });
    expect([cell.channel, cell.stdout, cell.stderr].every(({ destroyed }) => destroyed)).toBe(true);
  });
});

describe('the end of a stream', () => {
  const drained = (): string =>
    (['channel', 'stdout', 'stderr'] as const).map((stream) => encodeCelldLine({ drained: { stream } })).join('');

  it('is one when celld says so, whichever comes first', async () => {
    for (const first of ['word', 'end'] as const) {
      const cell = await boot();
      const output = buffer(cell.stdout);
      say(encodeCelldLine({ ended: end }));
      sockets.get('stdout')?.write('whole');
      if (first === 'word') say(drained());
      sockets.get('stdout')?.end();
      await new Promise((resolve) => setTimeout(resolve, 30));
      if (first === 'end') {
        expect(cell.stdout.readableEnded).toBe(false);
        say(drained());
      }
      expect(String(await output)).toBe('whole');
      // Whatever happens now, it stays whole.
      kill();
      expect(await cell.ended).toEqual(end);
    }
  });

  it('is none where celld dies before it says so, though the connection ends in order', async () => {
    const cell = await boot();
    const output = buffer(cell.stdout);
    say(encodeCelldLine({ ended: end }));
    sockets.get('stdout')?.end('half of i');
    expect(await cell.ended).toEqual(end);
    await new Promise((resolve) => setTimeout(resolve, 30));
    kill();
    await expect(output).rejects.toMatchObject({ code: 'CELL_LOST' });
  });

  it('is none where celld says that it was cut', async () => {
    const cell = await boot();
    const output = buffer(cell.stdout);
    sockets.get('stdout')?.write('half of i');
    say(encodeCelldLine({ ended: end }) + encodeCelldLine({ cut: { stream: 'stdout' } }));
    await expect(output).rejects.toMatchObject({ code: 'CELL_LOST' });
    expect(await cell.ended).toEqual(end);
  });
});

it('of a host that celld has no room to inspect nothing is known', async () => {
  expect(await driver.inspect()).toMatchObject({ usable: false, facts: [{ name: 'celld', state: 'unknown' }] });
});
