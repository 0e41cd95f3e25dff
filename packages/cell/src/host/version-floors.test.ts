import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { conformanceChecks } from '../conformance.ts';
import {
  compareDebianVersions,
  describeHoles,
  isBelow,
  judgeVersion,
  knownHoles,
  type ProgramVersion,
} from './version-floors.ts';

it.each([
  ['1.8.1', '1.4.4', false],
  ['1.4.4', '1.4.4', false],
  ['1.4.3', '1.4.4', true],
  ['1.10', '1.9.2', false],
  ['1.1.5+ds1', '1.1.12', true],
  ['2.0.0-rc1', '1.1.12', false],
  ['garbage', '1.4.4', true],
])('takes %s compared with a floor of %s as below: %s', (version, floor, below) => {
  expect(isBelow(version, floor)).toBe(below);
});

const openOf = (program: ProgramVersion): string[] => judgeVersion(program).open.map(({ id }) => id);

describe('a runc', () => {
  const hole = ['CVE-2024-21626'];

  it.each([
    ['1.1.12', undefined, []],
    ['1.2.0', undefined, []],
    ['v1.3.0', undefined, []],
    ['1.1.11', undefined, hole],
    ['', undefined, hole],
    ['unknown', undefined, hole],
    ['1.1.5+ds1', '1.1.5+ds1-1+b1', hole],
    ['1.1.5+ds1', '1.1.5+ds1-1+deb12u1', []],
    ['1.1.5+ds1', '1.1.5+ds1-1+deb12u10', []],
    ['1.0.0~rc93+ds1', '1.0.0~rc93+ds1-5+deb11u2', hole],
    ['1.0.0~rc93+ds1', '1.0.0~rc93+ds1-5+deb11u3', []],
    // Later than the package of Debian by order, and of before the remedy.
    ['1.1.7', '1.1.7-0ubuntu1~22.04.1', hole],
    ['1.1.7', '1.1.7-0ubuntu1~22.04.2', []],
    ['1.1.10+ds1', '1.1.10+ds1-1+deb12u1', hole],
  ])('%s of package %s has %j', (version, packageVersion, open) => {
    expect(openOf({ kind: 'runc', version, ...(packageVersion === undefined ? {} : { packageVersion }) })).toEqual(
      open,
    );
  });

  it('is told with what is wrong and where that is mended', () => {
    const program: ProgramVersion = { kind: 'runc', version: '1.1.11' };
    expect(describeHoles(program, judgeVersion(program).open)).toBe(
      'runc 1.1.11 has CVE-2024-21626 (a directory of the host leaks into the container), fixed in 1.1.12',
    );
  });
});

it('counts a branch that was mended by itself', () => {
  const removed = (version: string): string[] => judgeVersion({ kind: 'runc', version }).removed.map(({ id }) => id);
  expect(removed('1.2.7')).toEqual(['CVE-2025-31133', 'CVE-2025-52881']);
  expect(removed('1.2.8')).toEqual([]);
  expect(removed('1.3.2')).toEqual(['CVE-2025-31133', 'CVE-2025-52881']);
  expect(removed('1.3.3')).toEqual([]);
});

it('does not refuse for what the plan removes, and names a property that a probe judges', () => {
  expect(judgeVersion({ kind: 'crun', version: '1.4.3' })).toMatchObject({
    open: [],
    removed: [{ id: 'CVE-2022-27650' }],
  });
  const judged = new Set(conformanceChecks.map(({ property }) => property));
  for (const { id, removedBy } of knownHoles)
    if (removedBy !== undefined) expect(judged.has(removedBy.property), id).toBe(true);
});

it('orders versions as dpkg does', () => {
  const versions = ['1.0', '1.0~rc1', '1.0-1', '1.0-1+deb12u1', '1.0-1+deb12u10', '1.0-1+b1', '1.0+ds1-1', '1.10-1'];
  const pairs = versions.flatMap((a) => versions.map((b) => [a, b] as const));
  const script = 'while [ $# -gt 0 ]; do dpkg --compare-versions "$1" lt "$2" && echo "$1 $2"; shift 2; done; true';
  const byDpkg = execFileSync('sh', ['-c', script, 'sh', ...pairs.flat()], { encoding: 'utf8' });
  const ours = pairs.filter(([a, b]) => compareDebianVersions(a, b) < 0).map(([a, b]) => `${a} ${b}\n`);
  expect(ours.join('')).toBe(byDpkg);
});
