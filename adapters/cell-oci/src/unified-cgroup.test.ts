import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatOwnedName, readOwnMark } from '@glovebox/cell/host';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import {
  createCellCgroup,
  joinFiles,
  killProcesses,
  listCgroups,
  listProcesses,
  removeCgroups,
  runtimeCgroupPath,
} from './cell-cgroup.ts';
import { type CgroupHierarchies, type Hierarchy, readHierarchies } from './cgroup-hierarchies.ts';

/**
 * Version 2 on a real mount of it. Where its controllers are bound to version 1, as on hybrid hosts, the limits cannot be
 * set; joining, enabling, killing and removing are the same.
 */
const mounted = readHierarchies().all.find(({ version }) => version === 2);
const name = formatOwnedName(newCellId(), readOwnMark(newInstanceId()));
const limits = {
  cpu: 1,
  bootCpu: 1,
  memoryBytes: 2 ** 26,
  pids: 32,
  scratchBytes: 4096,
  scratchInodes: 16,
  openFiles: 64,
  lifetimeMs: 1000,
};

const only = (hierarchy: Hierarchy): CgroupHierarchies => ({
  mode: 'unified',
  all: [hierarchy],
  of: (controller) => (['memory', 'pids', 'cpu'].includes(controller) ? hierarchy : undefined),
});

describe.skipIf(mounted === undefined)('on a version 2 mount', () => {
  const hierarchies = only(mounted as Hierarchy);

  it('kills in one step what joined by cgroup.procs, and removes the cgroup when it is empty', async () => {
    const folder = join(mounted?.mountPoint ?? '', 'glovebox', name);
    // Only the join and what comes after: see above.
    (await import('node:fs')).mkdirSync(folder, { recursive: true });
    const [joinFile] = joinFiles(hierarchies, name, 'direct');
    expect(joinFile).toBe(join(folder, 'cgroup.procs'));
    const child = spawn(
      '/bin/sh',
      ['-c', 'echo 0 > "$1" && sleep 60 & echo 0 > "$1" && exec sleep 60', 'sh', joinFile ?? ''],
      { stdio: 'ignore' },
    );
    expect(await eventually(() => listProcesses(hierarchies, name).length === 2)).toBe(true);
    expect(removeCgroups(hierarchies, name).left).toBe(1);
    expect(existsSync(join(folder, 'cgroup.kill'))).toBe(true);
    killProcesses(hierarchies, name);
    if (child.signalCode === null) await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');
    expect(await eventually(() => removeCgroups(hierarchies, name).left === 0)).toBe(true);
    expect(listCgroups(hierarchies, name)).toEqual([]);
    expect(existsSync(join(mounted?.mountPoint ?? '', 'glovebox'))).toBe(false);
  });

  it('gives every limit of the plan where its controllers are version 2, else refuses and leaves nothing', () => {
    const controllers = readFileSync(join(mounted?.mountPoint ?? '', 'cgroup.controllers'), 'utf8');
    if (['memory', 'pids', 'cpu'].every((controller) => controllers.includes(controller))) {
      const cgroup = createCellCgroup(hierarchies, name, 'direct', limits);
      expect(cgroup.readUse()).toMatchObject({ oomKills: 0, pidsLimitHit: false });
    } else {
      expect(() => createCellCgroup(hierarchies, name, 'direct', limits)).toThrow(
        expect.objectContaining({ code: 'CGROUP_UNAVAILABLE' }),
      );
    }
    removeCgroups(hierarchies, name);
    expect(listCgroups(hierarchies, name)).toEqual([]);
  });
});

describe('the cgroups of a runtime that makes its own', () => {
  it('keep the launcher beside the limited one, which has no process of its own', () => {
    const hierarchies = only({ version: 2, mountPoint: '/cg', controllers: ['memory', 'pids', 'cpu'] });
    expect(joinFiles(hierarchies, 'x', 'nested')).toEqual(['/cg/glovebox/x/launcher/cgroup.procs']);
    expect(runtimeCgroupPath('x', 'nested')).toBe('/glovebox/x/cell/runtime');
  });

  it('are joined by thread on version 1, where that waits for nobody', () => {
    const hierarchies = only({ version: 1, mountPoint: '/cg/all', controllers: ['memory', 'pids', 'cpu'] });
    expect(joinFiles(hierarchies, 'x', 'direct')).toEqual(['/cg/all/glovebox/x/tasks']);
    expect(runtimeCgroupPath('x', 'direct')).toBeUndefined();
  });
});

/** A stand-in for cgroupfs: what would be written where on a version 2 host, on a plain directory that has the files. */
describe('the files of version 2', () => {
  it('are written as the kernel names them, controllers enabled from the top down', async () => {
    const { mkdirSync, mkdtempSync, rmSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    const top = mkdtempSync(join(tmpdir(), 'glovebox-cgroup2-'));
    try {
      const folder = join(top, 'glovebox');
      mkdirSync(folder);
      for (const path of [top, folder]) writeFileSync(join(path, 'cgroup.subtree_control'), '');
      const hierarchies = only({ version: 2, mountPoint: top, controllers: ['cpuset', 'cpu', 'io', 'memory', 'pids'] });
      // The limit files of a new cgroup come from the kernel; without them the first write fails and nothing is left.
      expect(() => createCellCgroup(hierarchies, 'x', 'direct', limits)).toThrow(
        expect.objectContaining({ code: 'CGROUP_UNAVAILABLE' }),
      );
      expect(readFileSync(join(top, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids +cpu');
      expect(readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids +cpu');
      expect(existsSync(join(folder, 'x'))).toBe(false);
    } finally {
      rmSync(top, { recursive: true, force: true });
    }
  });
});
