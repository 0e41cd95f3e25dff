import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../support/docker-engine.ts';
import { killPoints } from '../support/kill-points.ts';
import { killIfThere } from '../support/process-tree.ts';

let engine: DockerEngine;
let bench: DockerBench;
beforeAll(async () => {
  engine = await startDockerEngine();
  bench = openDockerBench({ engine: { socketPath: engine.socketPath } });
});
afterAll(async () => {
  try {
    await bench?.settle();
  } finally {
    bench?.remove();
    // Throws where anything of it is left on the host.
    await engine?.stop();
  }
});

const nameOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
};

/** Of whatever carries a container: which processes have a name that begins so. */
const pidsOf = (name: string): number[] => engine.pids().filter((pid) => nameOf(pid).startsWith(name));

const victims = {
  'the first process of the container': async () => pidsOf('node').map(killIfThere),
  'its shim': async () => pidsOf('containerd-shim').map(killIfThere),
  containerd: async () =>
    pidsOf('containerd')
      .filter((pid) => nameOf(pid) === 'containerd')
      .map(killIfThere),
  'the engine itself, which comes again': async () => {
    await engine.kill();
    await engine.start();
    return [true];
  },
};

it.each(Object.entries(victims))(
  'kill -9 of %s, at any moment: the cell ends in a typed state, and one sweep leaves nothing',
  async (_, kill) => {
    for (const delayMs of killPoints(3, 600, 20_260_203)) {
      const cell = await bench.boot();
      cell.run('say(1)');
      expect(await cell.heard()).toBe(1);
      await sleep(delayMs);
      expect(await kill()).toContain(true);
      // A container may outlive a helper that comes again; then it is ours to end.
      const alive = sleep(3000).then(() => cell.kill('done'));
      const { cause, error } = await cell.ended;
      await alive;
      // `violation`: its connection is lost, and what it did meanwhile cannot be told.
      expect(`${cause} ${error?.code ?? 'no error'}`).toMatch(/^(self|done|violation) (no error|ENGINE_UNREACHABLE)$/);
      await bench.driver.sweep();
      expect(await bench.driver.gauges()).toMatchObject({ cells: 0, processes: 0, directories: 0, uidClaims: 0 });
    }
  },
);
