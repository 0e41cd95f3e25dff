import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tarEnd, tarHeader, tarPadding } from './tar.ts';

const archive = (path: string, text: string): Buffer => {
  const sizeBytes = Buffer.byteLength(text);
  return Buffer.concat([
    tarHeader({ kind: 'file', path, mode: 0o444, sizeBytes }),
    Buffer.from(text),
    tarPadding(sizeBytes),
    tarEnd,
  ]);
};

it('writes what tar reads back: path, bytes, mode, owner and time', () => {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-tar-'));
  try {
    for (const path of ['a', `${'d'.repeat(60)}/${'e'.repeat(60)}/ü.txt`]) {
      for (const text of ['', 'x', 'y'.repeat(512), 'z'.repeat(513)]) {
        writeFileSync(join(dir, 't.tar'), archive(path, text));
        expect(execFileSync('tar', ['-xOf', join(dir, 't.tar'), path], { encoding: 'utf8' })).toBe(text);
        const listed = execFileSync(
          'tar',
          ['--utc', '--numeric-owner', '--quoting-style=literal', '-tvf', join(dir, 't.tar')],
          { encoding: 'utf8' },
        );
        expect(listed.trim().split(/\s+/)).toEqual([
          '-r--r--r--',
          '0/0',
          String(text.length),
          '1970-01-01',
          '00:00',
          path,
        ]);
      }
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
});

it('refuses a path that a header cannot hold', () => {
  expect(() => archive('n'.repeat(101), '')).toThrow(expect.objectContaining({ code: 'IMAGE_BUILD_FAILED' }));
  expect(archive('n'.repeat(100), '')).toHaveLength(3 * 512);
});
