import { spawnSync } from 'node:child_process';
import { GloveboxError } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { celldBin } from '../../../test/support/celld.ts';
import { help, readSettings } from './settings.ts';

const needed = ['--socket', '/run/x/celld.sock', '--run-dir', '/var/lib/x', '--images', '/var/lib/images'];

const codeOf = (args: readonly string[]): string => {
  try {
    readSettings(args);
    return 'none';
  } catch (thrown) {
    return GloveboxError.is(thrown) ? thrown.code : String(thrown);
  }
};

it('reads what it is given, and has a default for the rest', () => {
  expect(readSettings(needed)).toMatchObject({
    socketPath: '/run/x/celld.sock',
    groupId: undefined,
    driver: 'oci',
    acceptedRisks: [],
    maxCells: 64,
    maxMemoryBytes: 8192 * 1024 * 1024,
    sweepEveryMs: 300_000,
  });
  const all = ['--driver', 'docker', '--engine', '/run/e.sock', '--group', 'root', '--max-cells', '3'];
  const more = ['--max-memory', '64MiB', '--sweep-every', '10s', '--accept-risk', 'scratch-inodes-unlimited'];
  expect(readSettings([...needed, ...all, ...more])).toMatchObject({
    driver: 'docker',
    engine: '/run/e.sock',
    groupId: 0,
    maxCells: 3,
    maxMemoryBytes: 64 * 1024 * 1024,
    sweepEveryMs: 10_000,
    acceptedRisks: ['scratch-inodes-unlimited'],
  });
});

it('tells of every option in its help, which needs nothing else', () => {
  expect(readSettings(['--help'])).toBeUndefined();
  for (const option of needed.filter((arg) => arg.startsWith('--'))) expect(help).toContain(option);
});

it.each([
  [['--socket', 'celld.sock']],
  [['--driver', 'podman']],
  [['--group', 'no-such-group']],
  [['--group', '-1']],
  [['--max-cells', '0']],
  [['--max-cells', '1e3']],
  [['--max-memory', '64']],
  [['--max-memory', '0MiB']],
  [['--sweep-every', '0s']],
  [['--accept-risk', 'everything']],
  [['--no-such-option']],
  [['positional']],
])('refuses %j', (args) => {
  expect(codeOf([...needed, ...args])).toBe('USAGE');
});

it('refuses to start without a place for socket, bundles and images', () => {
  for (let i = 0; i < needed.length; i += 2) expect(codeOf(needed.toSpliced(i, 2))).toBe('USAGE');
});

it('refuses to start where it may not open as many files as its cells take', () => {
  const start = (most: number) =>
    spawnSync('sh', ['-c', `ulimit -n ${most}; exec "$0" "$@"`, celldBin, ...needed], { encoding: 'utf8' });
  expect(start(900)).toMatchObject({ status: 2, stderr: expect.stringMatching(/USAGE.*--max-cells 64/) });
  // What is wrong next is that the places are not there.
  expect(start(2000).stderr).toContain('PLACE_UNSAFE');
});
