import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openUidClaims } from '@glovebox/cell/host';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';

const home = mkdtempSync(join(tmpdir(), 'gb-other-engine-'));
const runtimePath = join(home, 'runc');
let engine: DockerEngine;
const benches: DockerBench[] = [];

/** A runtime that does one thing more before each call of the real one. */
function writeRuntime(before: string): void {
  const path = `${runtimePath}.new`;
  writeFileSync(path, `#!/bin/sh\n${before}\nexec /usr/sbin/runc "$@"\n`);
  chmodSync(path, 0o755);
  renameSync(path, runtimePath);
}

beforeAll(async () => {
  chmodSync(home, 0o755);
  writeRuntime(':');
  engine = await startDockerEngine({ runtimes: { wrapped: runtimePath } });
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const bench of benches.splice(0)) {
    await bench.settle();
    bench.remove();
  }
});
afterAll(async () => {
  await engine.stop();
  rmSync(home, { recursive: true });
});

function open(given: Partial<Parameters<typeof openDockerBench>[0]> = {}): DockerBench {
  const bench = openDockerBench({ engine: { socketPath: engine.socketPath }, ...given });
  benches.push(bench);
  return bench;
}

describe('another engine behind the same address', () => {
  it('does not free what a live cell of the first one has: the cell is lost, and found again by a sweep', async () => {
    const address = join(home, 'sock');
    const pointTo = (socketPath: string): void => {
      symlinkSync(socketPath, `${address}.new`);
      renameSync(`${address}.new`, address);
    };
    const other = await startDockerEngine();
    try {
      pointTo(engine.socketPath);
      const bench = open({ engine: { socketPath: address }, giveUpMs: 1_000 });
      const claims = (): number => openUidClaims(bench.claimsDirectory).list().length;
      const cell = await bench.boot();
      cell.run('say(1)');
      expect(await cell.heard()).toBe(1);
      pointTo(other.socketPath);
      cell.kill('done');
      expect(await cell.ended).toMatchObject({ cause: 'done', error: { code: 'CELL_LOST' } });
      expect(await bench.driver.sweep()).toMatchObject({ removed: { cells: 0, uidClaims: 0 }, unknown: 1 });
      expect(claims()).toBe(1);
      pointTo(engine.socketPath);
      expect(await bench.driver.sweep()).toMatchObject({ removed: { cells: 1, uidClaims: 1 }, unknown: 0 });
      expect(claims()).toBe(0);
    } finally {
      await other.stop();
    }
  });
});

describe('owners that keep their claims in different places', () => {
  it('never give one uid to two live cells of an engine', async () => {
    const [one, other] = [open(), open()];
    // What an engine shows of itself is shown: from here on claims are all that asks for random numbers.
    for (const bench of [one, other]) (await bench.boot()).kill('done');
    for (const bench of [one, other]) await bench.settle();
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    const first = await one.boot();
    await expect(other.boot()).rejects.toMatchObject({ code: 'UID_RANGE_EXHAUSTED' });
    random.mockReset().mockReturnValueOnce(0).mockReturnValue(0.5);
    const second = await other.boot();
    for (const cell of [first, second]) cell.run('say(process.getuid())');
    expect(await first.heard()).not.toBe(await second.heard());
    expect(await other.driver.gauges()).toMatchObject({ cells: 1, uidClaims: 1 });
  });
});

describe('a runtime that is replaced while the engine runs', () => {
  it('is tried anew: one that drops the system-call list boots no cell, and one that does not boots them', async () => {
    const bench = open({ runtime: 'wrapped' });
    (await bench.boot()).kill('done');
    await bench.settle();
    const edit =
      'const fs = require("fs"), path = process.argv[1] + "/config.json", spec = JSON.parse(fs.readFileSync(path)); delete spec.linux.seccomp; fs.writeFileSync(path, JSON.stringify(spec))';
    writeRuntime(
      `last=; bundle=; for one in "$@"; do [ "$last" = --bundle ] && bundle=$one; last=$one; done\n[ -z "$bundle" ] || ${process.execPath} -e '${edit}' "$bundle"`,
    );
    await expect(bench.driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({
      code: 'ENGINE_REFUSED',
      message: expect.stringContaining('seccomp'),
    });
    writeRuntime('true');
    const cell = await bench.boot();
    cell.run('say(1)');
    expect(await cell.heard()).toBe(1);
  });
});
