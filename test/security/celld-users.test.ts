import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelldUser, makeHome, type TestCelld } from '../support/celld.ts';
import { openCelldBench } from '../support/celld-bench.ts';
import { type Try, tryAs } from '../support/celld-tries.ts';

/** The server and its group; the user that celld is in a group of its own; somebody else. None of them is on the machine. */
const server: CelldUser = { uid: 64_101, gid: 64_100 };
const celldUser: CelldUser = { uid: 64_102, gid: 64_104 };
const stranger: CelldUser = { uid: 64_103, gid: 64_103 };

const refusals = (result: Record<string, unknown>, tries: readonly Try[]): unknown[] =>
  tries.map(([name]) => result[name]);

/** What the server has, and celld must not: a data directory with the key of its vault in it. */
let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-users-'));
  chmodSync(home, 0o755);
  mkdirSync(join(home, 'data', 'keys'), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'data', 'keys', 'vault.key'), 'secret', { mode: 0o600 });
  writeFileSync(join(home, 'vault.key'), 'secret', { mode: 0o600 });
  for (const path of ['data', 'data/keys', 'data/keys/vault.key', 'vault.key'])
    chownSync(join(home, path), server.uid, server.gid);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('the server, which has a uid of its own and may use the socket of celld', () => {
  const bench = openCelldBench();
  let celld: TestCelld;
  let engine: Server;
  const engineSocket = (): string => join(home, 'engine.sock');
  beforeAll(async () => {
    celld = await bench.start(['--group', String(server.gid)]);
    // As an engine leaves its own: for root and a group that the server is not in.
    engine = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => engine.listen(engineSocket(), resolve));
    chmodSync(engineSocket(), 0o660);
  });
  afterAll(async () => {
    engine.close();
    await bench.remove();
  });

  it('boots a cell and has none of the rights that making one takes', () => {
    const denied: Try[] = [
      ['engine socket', 'connect', engineSocket()],
      ['directory of celld', 'list', celld.runDirectory],
      ['instance of celld', 'read', join(celld.runDirectory, 'instance')],
      ['bundles of cells', 'list', join(celld.runDirectory, 'cells')],
      ['images', 'list', bench.imagesDirectory],
      ['uids of cells', 'list', '/run/glovebox-uids'],
      ['place of the socket', 'make', join(celld.home, 'socket', 'other.sock')],
      ['memory of celld', 'read', `/proc/${celld.child.pid}/mem`],
      ['environment of celld', 'read', `/proc/${celld.child.pid}/environ`],
      ['files of celld', 'list', `/proc/${celld.child.pid}/fd`],
    ];
    const result = tryAs(server, {
      cell: { socketPath: celld.socketPath, plan: bench.cells.plan(), code: 'say(6 * 7)' },
      tries: [
        ...denied,
        ['a signal to celld', 'signal', celld.child.pid ?? 0],
        ['own key', 'read', join(home, 'vault.key')],
        ['own data', 'list', join(home, 'data')],
      ],
    });
    expect(result).toMatchObject({ uid: server.uid, groups: [server.gid], heard: 42, cause: 'done' });
    expect(refusals(result, denied)).toEqual(denied.map(() => 'EACCES'));
    expect(result['a signal to celld']).toBe('EPERM');
    // Who may is not refused: the tries are real.
    expect([result['own key'], result['own data']]).toEqual(['ok', 'ok']);
    const root = tryAs({ uid: 0, gid: 0 }, { tries: denied.filter(([name]) => !/make|uids|bundles|place/.test(name)) });
    expect(Object.values(root).filter((value) => value === 'ok').length).toBeGreaterThanOrEqual(7);
  });

  it('is alone in that: who is not in the group cannot connect', () => {
    const result = tryAs(stranger, {
      cell: { socketPath: celld.socketPath, plan: bench.cells.plan() },
      tries: [['socket', 'connect', celld.socketPath]],
    });
    expect(result).toMatchObject({ heard: 'CELLD_UNREACHABLE', socket: 'EACCES' });
  });
});

describe('celld that is not root', () => {
  const bench = openCelldBench();
  afterAll(() => bench.remove());

  it('has nothing of what the server has', async () => {
    const own = makeHome(celldUser);
    const images = join(own, 'images');
    execFileSync('cp', ['-al', bench.imagesDirectory, images]);
    const celld = await bench.start([], { home: own, user: celldUser, imagesDirectory: images });
    try {
      const status = readFileSync(`/proc/${celld.child.pid}/status`, 'utf8');
      expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]?.split('\t')).toEqual(Array(4).fill(String(celldUser.uid)));
      expect(/^Groups:[ \t]*(.*?)[ \t]*$/m.exec(status)?.[1]).toBe('');
      expect(/^CapEff:\s+0+$/m.test(status)).toBe(true);
      const denied: Try[] = [
        ['data directory', 'list', join(home, 'data')],
        ['vault key', 'read', join(home, 'vault.key')],
        ['vault key in the data directory', 'read', join(home, 'data', 'keys', 'vault.key')],
        ['vault key to write', 'write', join(home, 'vault.key')],
      ];
      const result = tryAs(celldUser, { tries: [...denied, ['own directory', 'list', celld.runDirectory]] });
      expect(refusals(result, denied)).toEqual(denied.map(() => 'EACCES'));
      expect(result['own directory']).toBe('ok');
      // It makes no cells without the rights for it, and says so.
      const id = 'cell_0000000000000000000000' as never;
      const stranger = bench.driver(celld).boot(bench.cells.plan(), id);
      await expect(stranger).rejects.toMatchObject({ code: 'PLACE_UNSAFE' });
      const booting = bench.driver(celld, celldUser.uid).boot(bench.cells.plan(), id);
      await expect(booting).rejects.toMatchObject({ code: 'PRIVILEGE_MISSING' });
    } finally {
      await celld.end('SIGTERM');
      rmSync(own, { recursive: true, force: true });
    }
  });
});

describe('celld does not start', () => {
  const bench = openCelldBench();
  afterAll(() => bench.remove());

  const startIn = async (prepare: (home: string) => void): Promise<{ exit?: unknown; message: string }> => {
    const own = makeHome();
    try {
      prepare(own);
      const celld = await bench.start([], { home: own });
      await celld.end('SIGTERM');
      return { message: 'started' };
    } catch (thrown) {
      return thrown as Error & { exit?: unknown };
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  };

  it('has a twin that does', async () => {
    expect(await startIn(() => {})).toMatchObject({ message: 'started' });
  });

  it('where others could put another socket in the place of its own', async () => {
    const { exit, message } = await startIn((at) => chmodSync(join(at, 'socket'), 0o775));
    expect([exit, message]).toEqual([3, expect.stringContaining('PLACE_UNSAFE')]);
  });

  it('with images that others could change, and boots none whose files they could', async () => {
    const own = makeHome();
    const images = join(own, 'images');
    // Copies, since a change of mode reaches every link of a file.
    execFileSync('cp', ['-a', bench.imagesDirectory, images]);
    const image = join(images, '0'.repeat(64), 'rootfs');
    try {
      chmodSync(images, 0o777);
      await expect(bench.start([], { home: own, imagesDirectory: images })).rejects.toMatchObject({ exit: 3 });
      chmodSync(images, 0o755);
      const celld = await bench.start([], { home: own, imagesDirectory: images });
      const driver = bench.driver(celld);
      chmodSync(join(image, 'glovebox', 'harness.cjs'), 0o666);
      await expect(bench.cells.boot({}, driver)).rejects.toMatchObject({ code: 'PLACE_UNSAFE' });
      chmodSync(join(image, 'glovebox', 'harness.cjs'), 0o644);
      chownSync(join(image, 'etc'), stranger.uid, stranger.gid);
      await expect(bench.cells.boot({}, driver)).rejects.toMatchObject({ code: 'PLACE_UNSAFE' });
      chownSync(join(image, 'etc'), 0, 0);
      const cell = await bench.cells.boot({}, driver);
      cell.kill('done');
      await cell.ended;
      await celld.end('SIGTERM');
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});
