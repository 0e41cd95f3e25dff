import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CliRun } from '../support/cli.ts';
import { brokenRecords, listRuns } from '../support/kill-points.ts';
import { inWay, manyWays } from '../support/many-ways.ts';
import { openSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { type CliHome, makeCliHome } from '../support/use-cli.ts';
import { leftovers } from '../support/use-engine.ts';

vi.setConfig({ testTimeout: 240_000 });

let home: CliHome;
let disk: SmallDisk;
beforeAll(async () => {
  const made = await makeCliHome('none');
  mkdirSync(made.dataDir, { mode: 0o700 });
  disk = await openSmallDisk(made.dataDir, '40m');
  home = { ...made, run: (args, options) => made.run(args, { through: disk.through, ...options }) };
  await home.node('many-ways', manyWays);
});
afterAll(async () => {
  expect(home.residue()).toEqual([]);
  await disk.remove();
  home.remove();
});

const kept = /^(images(\/.*)?|cache\/packages\/.*|\.ballast|glovebox\.yaml)$/;
const halfWritten = (): string[] => [
  ...leftovers(disk.path).filter((path) => !kept.test(path)),
  ...readdirSync(disk.path, { recursive: true, encoding: 'utf8' }).filter((path) => /^images\/staging\/./.test(path)),
];

function expectFull({ code, json, stderr }: CliRun): void {
  expect({ code, error: json().error, stderr }).toEqual({
    code: 3,
    stderr: '',
    error: expect.objectContaining({ code: 'DISK_FULL', hint: expect.stringContaining('Free some space') }),
  });
}

describe('a full disk', () => {
  it('ends an image build with DISK_FULL, nothing half-made; with space the next one succeeds', async () => {
    expectFull(await home.run(['image', 'build', '--json']));
    expect(halfWritten()).toEqual([]);
    expect((await home.run(['image', 'show', '--json'])).json().error?.code).toBe('IMAGE_MISSING');
    await disk.resize('600m');
    expect((await home.run(['image', 'build'])).code).toBe(0);
    expect((await home.run(['image', 'show', '--verify'])).code).toBe(0);
    disk.fill(1 << 20);
    expectFull(await home.run(['image', 'build', '--force', '--json']));
    // What was there before is still current, and whole.
    expect((await home.run(['image', 'show', '--verify'])).code).toBe(0);
    expect(halfWritten()).toEqual([]);
    disk.free();
    expect((await home.run(inWay('echo', 1))).code).toBe(0);
  });

  it('ends a run whose file does not fit with DISK_FULL, keeps its record, and leaves no part of the file', async () => {
    disk.fill(2 << 20);
    const full = await home.run([...inWay('files', 6 << 20), '--json']);
    expect({ code: full.code, error: full.json().error }).toMatchObject({ code: 3, error: { code: 'DISK_FULL' } });
    expect(halfWritten()).toEqual([]);
    disk.free();
    const shown = (await home.run(['run', 'show', full.json().run as string, '--json'])).json();
    expect(shown).toMatchObject({ state: 'FAILED', error: { code: 'DISK_FULL' }, output: null });
    expect((await home.run(['verify', full.json().run as string])).code).toBe(0);
    const fits = await home.run([...inWay('files', 6 << 20), '--json']);
    expect({ code: fits.code, state: fits.json().state }).toEqual({ code: 0, state: 'SUCCEEDED' });
  });

  it.each([0, 40, 120, 400])('with %i KiB left ends a run typed, and recovers with space', async (kib) => {
    disk.fill(kib << 10);
    const ran = await home.run([...inWay('lines', 200), '--json']);
    if (ran.code !== 0) {
      // Either nothing began, or the end could not be written; both say so.
      const { error } = ran.json();
      expect({ code: ran.code, error }).toMatchObject({ code: 3, error: { code: 'DISK_FULL' } });
    }
    expect(home.residue()).toEqual([]);
    expect(halfWritten()).toEqual([]);
    disk.free();
    const runs = await listRuns(home);
    expect(runs.filter(({ state }) => ['QUEUED', 'RUNNING'].includes(state))).toEqual([]);
    expect(brokenRecords(disk.path)).toEqual([]);
    expect((await home.run(inWay('echo', kib))).code).toBe(0);
    if (kib === 0) expect(ran.code).toBe(3);
  });

  it('lets nothing else be half-written either: a first use, init, a new package, a file of a run', async () => {
    const { json } = await home.run([...inWay('files', 3 << 20), '--json']);
    const run = json().run as string;
    const inside = (name: string): string => join(home.dataDir, name);
    disk.fill(0);
    for (const args of [
      ['node', 'new', inside('new-node')],
      ['init', '--data-dir', inside('other-data')],
      ['run', 'list', '--data-dir', inside('third-data')],
    ])
      expectFull(await home.run([...args, '--json']));
    disk.fill(1 << 20);
    expectFull(await home.run(['run', 'file', run, 'raw.bin', '--out', inside('out.bin'), '--json']));
    const names = readdirSync(disk.path);
    expect(names.filter((name) => /^(new-node|\.new-node|out\.bin|\.out)/.test(name))).toEqual([]);
    disk.free();
    for (const args of [
      ['node', 'new', inside('new-node')],
      ['init', '--data-dir', inside('other-data')],
      ['run', 'list', '--data-dir', inside('third-data')],
      ['run', 'file', run, 'raw.bin', '--out', inside('out.bin')],
    ])
      expect({ args, code: (await home.run(args)).code }).toEqual({ args, code: 0 });
    for (const data of ['other-data', 'third-data'])
      expect(readdirSync(join(disk.path, data)).filter((name) => name.startsWith('.'))).toEqual([]);
    expect(execFileSync('stat', ['-c', '%s', join(disk.path, 'out.bin')], { encoding: 'utf8' }).trim()).toBe(
      String(3 << 20),
    );
  });

  it('is told by doctor before anything fails', async () => {
    disk.fill(1 << 20);
    const { code, stdout } = await home.run(['doctor']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/✗ disk .*\n +hint: Free some space/);
    disk.free();
    expect((await home.run(['doctor'])).code).toBe(0);
  });
});
