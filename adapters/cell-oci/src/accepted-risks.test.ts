import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CellDriver, HostFact } from '@glovebox/cell';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, expect, it } from 'vitest';
import { openCellBench, testImage } from '../../../test/support/cell-bench.ts';

const bench = openCellBench();
const clean = bench.residue();
const scratch = mkdtempSync(join(tmpdir(), 'glovebox-risks-'));
afterEach(async () => {
  await bench.settle();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => {
  bench.remove();
  rmSync(scratch, { recursive: true, force: true });
});

/** The real runtime, which says that it is of another version. */
function pretending(kind: 'crun' | 'runc', version: string): string {
  const path = join(scratch, `${kind}-${version}`);
  const real = kind === 'crun' ? '/usr/bin/crun' : '/usr/sbin/runc';
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && exec echo '${kind} version ${version}'\nexec ${real} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

const floorOf = async (driver: CellDriver): Promise<HostFact | undefined> =>
  (await driver.inspect(testImage)).facts.find(({ name }) => name === 'runtime-floor');

it('refuses a runtime with a hole that a cell could reach, by the name of the hole and of the risk', async () => {
  const driver = bench.open({ runtime: pretending('runc', '1.1.11') });
  await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({
    code: 'HOST_UNSUPPORTED',
    message: expect.stringContaining('CVE-2024-21626'),
    hint: expect.stringContaining('runtime-below-floor'),
  });
  expect(await floorOf(driver)).toMatchObject({ state: 'missing', required: true, risk: 'runtime-below-floor' });
});

it('boots on it where that risk is accepted, and each cell says so', async () => {
  const driver = bench.open({ runtime: pretending('runc', '1.1.11'), acceptedRisks: ['runtime-below-floor'] });
  const cell = await bench.boot({}, driver);
  expect(cell.facts).toMatchObject({ runtimeVersion: '1.1.11', acceptedRisks: ['runtime-below-floor'] });
  cell.run('say(1)');
  expect(await cell.heard()).toBe(1);
  expect(await floorOf(driver)).toMatchObject({ state: 'missing', required: false, risk: 'runtime-below-floor' });
  expect((await driver.inspect(testImage)).usable).toBe(true);
});

it('does not say that a risk was taken that no cell takes', async () => {
  const cell = await bench.boot({}, bench.open({ acceptedRisks: ['runtime-below-floor', 'scratch-inodes-unlimited'] }));
  expect(cell.facts.acceptedRisks).toEqual([]);
});

it('needs nobody to accept a hole that the plan takes away, and names it', async () => {
  const driver = bench.open({ runtime: pretending('crun', '1.4.3') });
  const cell = await bench.boot({}, driver);
  expect(cell.facts.acceptedRisks).toEqual([]);
  const { facts } = await driver.inspect(testImage);
  expect(facts.find(({ name }) => name === 'runtime-holes')).toMatchObject({
    required: false,
    detail: expect.stringContaining('CVE-2022-27650'),
  });
});

it('refuses cells that lack a bound which nobody has accepted to go without', async () => {
  const sandbox = join(scratch, 'sandbox');
  writeFileSync(sandbox, "#!/bin/sh\necho 'runsc version 0.0~20221219.0'\n");
  chmodSync(sandbox, 0o755);
  const driver = bench.open({ runtime: sandbox });
  await expect(driver.boot({ ...bench.plan(), class: 'gvisor' }, newCellId())).rejects.toMatchObject({
    code: 'HOST_UNSUPPORTED',
    hint: expect.stringContaining('scratch-inodes-unlimited'),
  });
});
