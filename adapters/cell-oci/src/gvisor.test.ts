import type { HostFact } from '@glovebox/cell';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { benchHarness, openCellBench, testImage } from '../../../test/support/cell-bench.ts';
import { setHarness } from '../../../test/support/cell-rootfs.ts';

const bench = openCellBench({ acceptedRisks: ['scratch-inodes-unlimited'] });
setHarness(bench.rootfs, benchHarness(4));
const clean = bench.residue();
afterEach(async () => {
  const left = bench.residue();
  await bench.settle();
  expect(left).toEqual(clean);
});
afterAll(() => bench.remove());

const lacking = (facts: readonly HostFact[]): HostFact[] =>
  facts.filter(({ required, state }) => required && state !== 'in-force');

describe('a cell on a kernel in user space', () => {
  it('is from inside and from the host all that a cell of its class must be', async () => {
    const report = await bench.driver.inspect(testImage, 'gvisor');
    expect(lacking(report.facts)).toEqual([]);
    expect(report).toMatchObject({ class: 'gvisor', usable: true });
  });

  it('hands bytes over both ways, says what it is, and ends by itself', async () => {
    const cell = await bench.boot({}, bench.driver, 'gvisor');
    expect(cell.facts).toMatchObject({ runtime: 'runsc', acceptedRisks: ['scratch-inodes-unlimited'] });
    expect(cell.facts.properties).toEqual(expect.arrayContaining(['kernel-user-space', 'seccomp', 'uid-own']));
    expect(cell.facts.properties).not.toContain('rlimits');
    cell.run('process.stdout.write("out\\n"); process.stderr.write("err\\n"); say({ echo: [1, 2] })');
    expect(await cell.heard()).toEqual({ echo: [1, 2] });
    cell.run('process.exit(7)');
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 7, signal: null }, pidsLimitHit: false });
    expect(cell.output()).toContain('out\n');
    expect(cell.output()).toContain('err\n');
  });
});
