import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planRunCell } from '@glovebox/cell';
import { formatOwnedName, readOwnMark } from '@glovebox/cell/host';
import { type Digest, newCellId, newInstanceId } from '@glovebox/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeCreateBody } from './create-body.ts';
import { createEngineClient } from './engine-client.ts';
import { createPodmanApi } from './podman-api.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-podman-files-'));
const socketPath = join(home, 'engine');
const run = join(home, 'run');
/** What lies there while the engine makes a container. */
let during: string[] = [];
const server = http.createServer((request, response) => {
  if (request.url?.endsWith('/containers/create')) during = readdirSync(run);
  request.resume().on('end', () => {
    response.statusCode = request.method === 'POST' ? 201 : 204;
    response.end(request.method === 'POST' ? '{}' : undefined);
  });
});
beforeAll(async () => {
  server.listen(socketPath);
  await once(server, 'listening');
});
beforeEach(() => {
  rmSync(run, { recursive: true, force: true });
  mkdirSync(run);
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

const podman = createPodmanApi(createEngineClient({ socketPath }), 5_000, run);
const mark = readOwnMark(newInstanceId());
const live = (): string => formatOwnedName(newCellId(), mark);
/** Its pid is this process's, which was not started then. */
const dead = (): string => formatOwnedName(newCellId(), { ...mark, owner: { ...mark.owner, startTicks: '1' } });
const leave = (name: string): void => writeFileSync(join(run, name), '{}');

const MiB = 1024 * 1024;
const limits = { cpu: 1, memoryBytes: 128 * MiB, pids: 64, timeoutMs: 30_000, outputBytes: MiB, logBytes: MiB };
const body = makeCreateBody({
  plan: planRunCell(
    `sha256:${'a'.repeat(64)}` as Digest,
    { ...limits, filesBytes: 0, filesCount: 0, scratchBytes: MiB },
    'ns',
  ),
  uid: 70_000,
  labels: {},
  marker: 'marker',
  seccomp: '{}',
  arch: 'x64',
});

describe('the file of system calls that Podman is given', () => {
  it('is there while a container is made, under the name of that, and not longer', async () => {
    const name = live();
    await podman.create(name, body);
    expect(during).toEqual([`seccomp-${name}`]);
    expect(readdirSync(run)).toEqual([]);
  });

  it('goes with the next one where its maker died meanwhile, and that of a live one stays', async () => {
    const others = [`seccomp-${live()}`, 'seccomp-of-nobody', dead()].sort();
    for (const name of [...others, `seccomp-${dead()}`]) leave(name);
    await podman.create(live(), body);
    expect(readdirSync(run).sort()).toEqual(others);
  });

  it('goes with the volume that a sweep finds, by its name and no other', async () => {
    const [name, other] = [dead(), dead()];
    for (const one of [name, other]) leave(`seccomp-${one}`);
    leave('kept');
    await podman.removeScratch(name);
    await podman.removeScratch('x/../kept');
    expect(readdirSync(run).sort()).toEqual(['kept', `seccomp-${other}`]);
  });
});
