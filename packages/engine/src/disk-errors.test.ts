import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { asDiskError } from './disk-errors.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-disk-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const failure = (code: string, syscall = 'open') => Object.assign(new Error(code), { code, syscall });
const codeOf = (thrown: unknown): unknown => (asDiskError(thrown, dir, 'unusable') as { code?: unknown })?.code;

it.each([
  ['ENOSPC', 'DISK_FULL'],
  ['EDQUOT', 'DISK_FULL'],
  ['EACCES', 'DATA_DIR_UNUSABLE'],
  ['EROFS', 'DATA_DIR_UNUSABLE'],
  ['ENOTDIR', 'DATA_DIR_UNUSABLE'],
  ['ENOENT', 'ENOENT'],
  ['EIO', 'EIO'],
])('%s is told as %s', (code, told) => {
  expect(codeOf(failure(code))).toBe(told);
});

it.each([null, undefined, 'text', new Error('x')])(
  'what is no failure of the file system comes back as it is: %s',
  (thrown) => {
    expect(asDiskError(thrown, dir, 'unusable')).toBe(thrown);
  },
);

it('a read-only disk is told so where directories were to be made with those above them', () => {
  const program = `
    const { mkdirSync } = require('node:fs');
    for (const recursive of [true, false])
      try { mkdirSync(process.argv[1] + '/a', { recursive }) } catch (e) { console.log(e.code, e.syscall) }`;
  const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$1" -e "$2" "$0"';
  const args = ['--mount', '--propagation', 'private', 'sh', '-ec', script, dir, process.execPath, program];
  const said = execFileSync('unshare', args, { encoding: 'utf8', env: { PATH: process.env.PATH } })
    .trim()
    .split('\n');
  expect(said).toHaveLength(2);
  for (const line of said) {
    const [code = '', syscall] = line.split(' ');
    expect({ line, told: codeOf(failure(code, syscall)) }).toEqual({ line, told: 'DATA_DIR_UNUSABLE' });
  }
  // One that can be written to takes both.
  mkdirSync(join(dir, 'a'), { recursive: true });
});
