import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planRunCell } from '@glovebox/cell';
import { createCelldDriver } from '@glovebox/cell-celld';
import { type CellPlan, type Digest, newCellId } from '@glovebox/contract';
import { createImageStore } from '@glovebox/image-rootfs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelldUser, makeHome, startCelld, type TestCelld } from '../support/celld.ts';
import { type Try, tryAs } from '../support/celld-tries.ts';
import { type DockerEngine, startDockerEngine } from '../support/docker-engine.ts';
import { openTestEngine, sharedImages, type TestEngine } from '../support/engine.ts';

const MiB = 1024 * 1024;
/** The server; celld, in the group of the engine and of the server's. */
const server: CelldUser = { uid: 64_101, gid: 64_101 };
const celldUser: CelldUser = { uid: 64_102, gid: 64_104 };

describe('celld as a user of its own, with a container engine', () => {
  let engine: DockerEngine;
  let home: string;
  let celld: TestCelld;
  let there: TestEngine;
  let data: string;
  const start = async (): Promise<void> => {
    celld = await startCelld({
      home,
      user: celldUser,
      imagesDirectory: join(home, 'images'),
      args: [
        ...['--driver', 'docker', '--engine', engine.socketPath, '--claims-dir', join(home, 'run', 'uids')],
        ...['--group', String(celldUser.gid)],
      ],
    });
    // What an administrator gives by making both members of one group, which this machine does not have.
    chownSync(celld.socketPath, celldUser.uid, server.gid);
  };
  const runPlan = async (): Promise<CellPlan> => {
    const { digest } = await there.engine.images.current('runtime');
    const resources = { cpu: 1, memoryBytes: 128 * MiB, pids: 64, timeoutMs: 30_000, scratchBytes: MiB };
    return planRunCell(
      digest as Digest,
      {
        ...resources,
        outputBytes: MiB,
        logBytes: MiB,
        filesBytes: 0,
        filesCount: 0,
      },
      'ns',
    );
  };
  beforeAll(async () => {
    engine = await startDockerEngine();
    // As an engine of a machine has it: anybody may come as far as the socket, and its group may use it.
    chownSync(engine.socketPath, 0, celldUser.gid);
    chmodSync(engine.socketPath, 0o660);
    home = makeHome(celldUser);
    // Images that its own user made: an archive of one is made of what belongs to whoever makes it.
    mkdirSync(join(home, 'images'));
    for (const { digest } of await createImageStore({ dataDir: sharedImages }).build({})) {
      execFileSync('cp', ['-a', join(sharedImages, 'images', digest.slice('sha256:'.length)), join(home, 'images')]);
    }
    execFileSync('chown', ['-R', `${celldUser.uid}:${celldUser.gid}`, join(home, 'images')]);
    await start();
    there = await openTestEngine({}, createCelldDriver({ socketPath: celld.socketPath, celldUid: celldUser.uid }));
    data = mkdtempSync(join(tmpdir(), 'glovebox-server-'));
    chmodSync(data, 0o755);
    mkdirSync(join(data, 'data'), { mode: 0o700 });
    writeFileSync(join(data, 'vault.key'), 'secret', { mode: 0o600 });
    for (const name of ['data', 'vault.key']) chownSync(join(data, name), server.uid, server.gid);
  });
  afterAll(async () => {
    await there?.close();
    await celld?.end('SIGTERM');
    await engine?.stop();
    for (const path of [home, data]) rmSync(path, { recursive: true, force: true });
  });

  it('makes the cells of a whole run, without a right of root', async () => {
    const status = readFileSync(`/proc/${celld.child.pid}/status`, 'utf8');
    expect(/^Uid:\t(\d+)/m.exec(status)?.[1]).toBe(String(celldUser.uid));
    expect(/^CapEff:\s+0+$/m.test(status)).toBe(true);
    const run = await there.run({ body: 'return { twice: ctx.input.n * 2 };' }, { input: { n: 21 } });
    expect(run.state, JSON.stringify(run.error)).toBe('SUCCEEDED');
    expect(run.output).toEqual({ twice: 42 });
    expect(await there.engine.driver.gauges()).toMatchObject({ cells: 0, uidClaims: 0 });
  });

  it('has what the server has not, and the server what it has not', async () => {
    const ofCelld: Try[] = [
      ['engine socket', 'connect', engine.socketPath],
      ['directory of celld', 'list', celld.runDirectory],
    ];
    const ofServer: Try[] = [
      ['data directory', 'list', join(data, 'data')],
      ['vault key', 'read', join(data, 'vault.key')],
    ];
    const names = (tries: Try[]): string[] => tries.map(([name]) => name);
    const all = [...ofCelld, ...ofServer];
    const byServer = tryAs(server, {
      cell: { socketPath: celld.socketPath, celldUid: celldUser.uid, plan: await runPlan() },
      tries: all,
    });
    expect(byServer).toMatchObject({ uid: server.uid, heard: true, cause: 'done' });
    expect(names(ofCelld).map((name) => byServer[name])).toEqual(['EACCES', 'EACCES']);
    expect(names(ofServer).map((name) => byServer[name])).toEqual(['ok', 'ok']);
    const byCelld = tryAs(celldUser, { tries: all });
    expect(names(ofCelld).map((name) => byCelld[name])).toEqual(['ok', 'ok']);
    expect(names(ofServer).map((name) => byCelld[name])).toEqual(['EACCES', 'EACCES']);
  });

  it('sweeps, once started again, the containers of one that was killed', async () => {
    const driver = createCelldDriver({ socketPath: celld.socketPath, celldUid: celldUser.uid });
    const cell = await driver.boot(await runPlan(), newCellId());
    await celld.end('SIGKILL');
    expect(await cell.ended).toMatchObject({ error: { code: 'CELL_LOST' } });
    await start();
    expect(celld.said()).toMatch(/swept .*"cells":1/);
    const gauges = await createCelldDriver({ socketPath: celld.socketPath, celldUid: celldUser.uid }).gauges();
    expect(gauges).toMatchObject({ cells: 0, processes: 0, uidClaims: 0 });
  });
});
