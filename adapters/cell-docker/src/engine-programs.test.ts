import { describe, expect, it } from 'vitest';
import { judgePrograms } from './engine-programs.ts';
import type { EngineVersion } from './engine-schemas.ts';

const versionOf = (components: [string, string, string?][]): EngineVersion => ({
  Version: '1',
  ApiVersion: '1.41',
  Arch: 'amd64',
  Os: 'linux',
  Components: components.map(([Name, Version, GitCommit]) => ({
    Name,
    Version,
    ...(GitCommit === undefined ? {} : { Details: { GitCommit } }),
  })),
});
const engine: [string, string][] = [
  ['Engine', '20.10.24+dfsg1'],
  ['containerd', '1.6.20~ds1'],
];
const openOf = (version: EngineVersion, runtime: string): string[] =>
  judgePrograms(version, runtime).flatMap(({ open }) => open.map(({ id }) => id));

describe('what an engine runs cells by', () => {
  it.each([
    ['a runtime that is mended in its package', 'runc', '1.1.5+ds1', '1.1.5+ds1-1+deb12u1', []],
    ['one that is not mended', 'runc', '1.1.5', 'v1.1.5-0-gf19387a6', ['CVE-2024-21626']],
    ['one whose package is older than the remedy', 'runc', '1.1.5+ds1', '1.1.5+ds1-1+b1', ['CVE-2024-21626']],
    ['one above the floor', 'runc', '1.1.12', 'v1.1.12-0-g51d5e946', []],
  ])('is judged by what it tells: %s', (_, name, version, commit, open) => {
    expect(openOf(versionOf([...engine, [name, version, commit]]), name)).toEqual(open);
  });

  it('is judged by the runtime that is used, and not by another that is told beside it', () => {
    const version = versionOf([...engine, ['runc', '1.1.5', 'x']]);
    expect(openOf(version, 'runc')).toEqual(['CVE-2024-21626']);
    expect(openOf(version, 'crun')).toEqual([]);
    expect(openOf(version, 'runsc')).toEqual(['CVE-2024-21626']);
  });

  it('has every hole of its kind where its version is not told, or its kind is not known', () => {
    expect(openOf(versionOf(engine), 'runc')).toEqual(['CVE-2024-21626']);
    expect(openOf(versionOf(engine), 'something-else')).toEqual(['CVE-2024-21626']);
  });

  it('is read off the words of Podman too', () => {
    const told = 'runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\nspec: 1.0.2-dev';
    const programs = judgePrograms(
      versionOf([
        ['Podman Engine', '4.3.1'],
        ['Conmon', 'conmon version 2.1.6, commit: unknown'],
        ['OCI Runtime (runc)', told],
      ]),
      'runc',
    );
    expect(programs.map(({ program }) => program)).toEqual([
      { kind: 'podman', version: '4.3.1' },
      { kind: 'runc', version: '1.1.5+ds1', packageVersion: '1.1.5+ds1-1+deb12u1' },
    ]);
    expect(programs.flatMap(({ open }) => open)).toEqual([]);
  });
});
