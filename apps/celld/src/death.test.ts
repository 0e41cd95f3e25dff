import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import { makeHome, type TestCelld } from '../../../test/support/celld.ts';
import { openCelldBench } from '../../../test/support/celld-bench.ts';

const bench = openCelldBench();
const children: ChildProcess[] = [];
let running: TestCelld | undefined;
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  await running?.end('SIGTERM');
  running = undefined;
});
afterAll(() => bench.remove());

async function start(args: readonly string[] = []): Promise<TestCelld> {
  running = await bench.start(args);
  return running;
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Another client, which boots cells that ignore every signal, tells when each is up, and reads nothing. */
const client = `
  import { createCelldDriver } from '@glovebox/cell-celld';
  import { newCellId } from '@glovebox/contract';
  const { socketPath, plan, count } = JSON.parse(process.argv[1]);
  const driver = createCelldDriver({ socketPath });
  for (let i = 0; i < count; i++) {
    void driver.boot(plan, newCellId()).then((cell) => {
      cell.channel.write("require('node:fs').writeSync(3, 'on'); for (;;) require('node:fs').writeSync(1, 'x'.repeat(1000));\\0");
      cell.channel.once('data', () => console.log('up'));
    });
  }
`;

function startClient({ socketPath }: TestCelld, count: number): { child: ChildProcess; said(): string } {
  const given = JSON.stringify({ socketPath, plan: bench.cells.plan(), count });
  const child = spawn(process.execPath, ['--input-type=module', '-e', client, given], {
    cwd: import.meta.dirname,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  return { child, said: () => said };
}

const isEmpty = (): boolean => Object.values(bench.residue()).every((list) => list.length === 0);

describe('when a client is killed', () => {
  it('its cells are killed at once and nothing of them is left, and another client is served on', async () => {
    const celld = await start();
    const own = await bench.cells.boot({}, bench.driver(celld));
    const { child, said } = startClient(celld, 2);
    expect(await eventually(() => said().split('up').length === 3)).toBe(true);
    expect(bench.residue().claims).toHaveLength(3);
    await kill(child);
    expect(await eventually(() => bench.residue().claims.length === 1)).toBe(true);
    own.run('say("alive")');
    expect(await own.heard()).toBe('alive');
    own.kill('done');
    await own.ended;
    expect(bench.residue()).toMatchObject({ processes: [], cgroups: [], directories: [], claims: [] });
  });

  it('nothing is left of what it was about to boot', async () => {
    const celld = await start();
    const { child } = startClient(celld, 8);
    // Some are being made, and some wait for their turn.
    expect(await eventually(() => bench.residue().claims.length > 0)).toBe(true);
    await kill(child);
    expect(await eventually(isEmpty)).toBe(true);
    const cell = await bench.cells.boot({}, bench.driver(celld));
    cell.run('say("served on")');
    expect(await cell.heard()).toBe('served on');
    cell.kill('done');
    await cell.ended;
  });
});

describe('when celld is killed', () => {
  it('its cells die with it, their client counts them as lost, and the next celld sweeps what is left', async () => {
    const first = await start();
    const cells = await Promise.all([0, 1].map(() => bench.cells.boot({}, bench.driver(first))));
    for (const cell of cells) cell.run('say("up"); for (;;) ;');
    for (const cell of cells) expect(await cell.heard()).toBe('up');
    await first.end('SIGKILL');
    for (const cell of cells) {
      expect(await cell.ended).toMatchObject({ error: { code: 'CELL_LOST' } });
      expect(cell.channel.destroyed).toBe(true);
    }
    // Nobody has swept: it is the kernel that kills them.
    expect(await eventually(() => bench.residue().processes.length === 0)).toBe(true);
    expect(bench.residue().claims).toHaveLength(2);
    const second = await start();
    expect(isEmpty()).toBe(true);
    expect(second.said()).toMatch(/swept .*"cells":2/);
    const cell = await bench.cells.boot({}, bench.driver(second));
    cell.kill('done');
    await cell.ended;
  });

  it('while it boots a cell, the client is told so and nothing is left', async () => {
    const first = await start();
    const booting = bench.driver(first).boot(bench.cells.plan(), newCellId());
    booting.catch(() => {});
    expect(await eventually(() => bench.residue().claims.length === 1)).toBe(true);
    await first.end('SIGKILL');
    // It may have been booted in the moment before.
    const how = await booting.then(
      async ({ ended }) => (await ended).error?.code,
      ({ code }: { code: string }) => code,
    );
    expect(['CELLD_UNREACHABLE', 'CELL_LOST']).toContain(how);
    await start();
    expect(await eventually(isEmpty)).toBe(true);
  });
});

describe('output that is not read when its cell is dead', () => {
  /** More than all buffers on the way to a client hold. */
  const size = 400_000;
  const bootWriter = async (celld: TestCelld) => {
    const cell = await bench.driver(celld).boot(bench.cells.plan(), newCellId());
    cell.channel.resume();
    cell.stderr.resume();
    cell.channel.write(`require('node:fs').writeSync(1, 'x'.repeat(${size})); process.reallyExit(0)\0`);
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0 } });
    return cell;
  };

  it('is not taken for whole where celld is killed before it has passed it on', async () => {
    const celld = await start();
    const cell = await bootWriter(celld);
    await celld.end('SIGKILL');
    await expect(buffer(cell.stdout)).rejects.toMatchObject({ code: 'CELL_LOST' });
  });

  it('is waited for by a celld that is told to stop', async () => {
    const celld = await start();
    const cell = await bootWriter(celld);
    const ending = celld.end('SIGTERM');
    await sleep(300);
    expect(await buffer(cell.stdout)).toHaveLength(size);
    expect(await ending).toBe(0);
  });
});

describe('when nobody hears any more what celld says', () => {
  it('it goes on', async () => {
    const first = await start();
    const cells = [await bench.cells.boot({}, bench.driver(first))];
    await first.end('SIGKILL');
    for (const { ended } of cells) await ended;
    // It has something to say at its start: what it swept.
    const second = await bench.start([], { deaf: true });
    running = second;
    const cell = await bench.cells.boot({}, bench.driver(second));
    cell.run('say("served")');
    expect(await cell.heard()).toBe('served');
    cell.kill('done');
    await cell.ended;
    expect(isEmpty()).toBe(true);
  });
});

describe('a celld that stops answering', () => {
  it('costs a cell its confirmation, not its client the patience', async () => {
    const celld = await start();
    const { createCelldDriver } = await import('@glovebox/cell-celld');
    const driver = createCelldDriver({ socketPath: celld.socketPath, answerDeadlineMs: 2000, workDeadlineMs: 2000 });
    const cell = await bench.cells.boot({}, driver);
    celld.child.kill('SIGSTOP');
    try {
      cell.kill('done');
      expect(await cell.ended).toMatchObject({ cause: 'done', error: { code: 'CELL_LOST' } });
      await expect(driver.boot(bench.cells.plan(), newCellId())).rejects.toMatchObject({ code: 'CELLD_UNREACHABLE' });
    } finally {
      celld.child.kill('SIGCONT');
    }
    expect(await eventually(isEmpty)).toBe(true);
  });
});

describe('the place of the socket', () => {
  it('is taken over from a dead celld, and never from a live one, which goes on', async () => {
    const first = await start();
    const socket = lstatSync(first.socketPath).ino;
    await expect(bench.start()).rejects.toMatchObject({
      exit: 2,
      message: expect.stringContaining('ALREADY_EXISTS'),
    });
    expect(lstatSync(first.socketPath).ino).toBe(socket);
    const cell = await bench.cells.boot({}, bench.driver(first));
    cell.kill('done');
    await cell.ended;
    await first.end('SIGKILL');
    expect(existsSync(first.socketPath)).toBe(true);
    await start();
  });

  it('and its own directory are had by one celld at a time', async () => {
    const first = await start();
    const home = makeHome();
    const other = bench.start(['--run-dir', first.runDirectory], { home });
    await expect(other).rejects.toMatchObject({ exit: 2, message: expect.stringContaining('ALREADY_EXISTS') });
  });

  it('is not taken from another program that listens there, nor is a file removed', async () => {
    const home = makeHome();
    const path = join(home, 'socket', 'celld.sock');
    const other = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => other.listen(path, resolve));
    await expect(bench.start([], { home })).rejects.toMatchObject({ exit: 2 });
    expect(other.listening && lstatSync(path).isSocket()).toBe(true);
    await new Promise((resolve) => other.close(resolve));
    writeFileSync(path, 'a file');
    await expect(bench.start([], { home })).rejects.toMatchObject({ exit: 2 });
    expect(lstatSync(path).isFile()).toBe(true);
  });
});
