import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Edit, ReportFinding } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyFixes } from './apply-fixes.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-fixes-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Write files, as they were validated. */
function files(texts: Record<string, string>): Map<string, Uint8Array> {
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));
}

const edit = (file: string, line: number, from: number, to: number, text: string): Edit => ({
  file,
  start: { line, column: from },
  end: { line, column: to },
  text,
});

const finding = (...edits: Edit[]): ReportFinding => ({
  rule: 'MANIFEST_INVALID',
  severity: 'error',
  check: 'manifest',
  file: edits[0]?.file ?? null,
  path: null,
  line: null,
  column: null,
  message: '',
  hint: '',
  fix: { title: 'Mend it', edits },
});

const read = (name: string): string => readFileSync(join(dir, name), 'utf8');

describe('fixes', () => {
  it('are made in every file that they name, however many a file has, by characters and not by bytes', async () => {
    const before = files({ 'a.json': '{"ä𝒳": 1,\r\n "b": 2}\r\n', 'src/b.txt': 'one\ntwo\n', 'c.txt': 'as it was' });
    const applied = await applyFixes(dir, before, [
      finding(edit('a.json', 1, 3, 6, 'x'), edit('src/b.txt', 2, 1, 4, 'three')),
      finding(edit('a.json', 2, 3, 4, 'c')),
      { ...finding(), fix: { title: 'Nothing', edits: [] } },
    ]);
    expect([read('a.json'), read('src/b.txt'), read('c.txt')]).toEqual([
      '{"x": 1,\r\n "c": 2}\r\n',
      'one\nthree\n',
      'as it was',
    ]);
    expect(applied).toEqual([
      { rule: 'MANIFEST_INVALID', title: 'Mend it', files: ['a.json', 'src/b.txt'] },
      { rule: 'MANIFEST_INVALID', title: 'Mend it', files: ['a.json'] },
    ]);
  });

  it('leave a file its mode and nothing beside it', async () => {
    const before = files({ 'a.txt': 'one' });
    chmodSync(join(dir, 'a.txt'), 0o4640);
    await applyFixes(dir, before, [finding(edit('a.txt', 1, 1, 4, 'two'))]);
    expect(read('a.txt')).toBe('two');
    expect(statSync(join(dir, 'a.txt')).mode & 0o7777).toBe(0o640);
    expect(readdirSync(dir)).toEqual(['a.txt']);
  });

  it('are made whole or not at all: one that touches another one, or is not in the text, is left', async () => {
    const before = files({ 'a.txt': 'one two\n', 'b.txt': 'one' });
    const applied = await applyFixes(dir, before, [
      finding(edit('a.txt', 1, 1, 4, 'x')),
      finding(edit('b.txt', 1, 1, 4, 'y'), edit('a.txt', 1, 2, 6, 'y')),
      finding(edit('b.txt', 1, 1, 4, 'z'), edit('a.txt', 3, 1, 1, 'z')),
      finding(edit('b.txt', 1, 1, 9, 'z')),
      finding(edit('b.txt', 1, 3, 2, 'z')),
      finding(edit('../outside.txt', 1, 1, 1, 'z')),
      finding(edit('not-there.txt', 1, 1, 1, 'z')),
    ]);
    expect(applied).toHaveLength(1);
    expect([read('a.txt'), read('b.txt')]).toEqual(['x two\n', 'one']);
    expect(readdirSync(dir).sort()).toEqual(['a.txt', 'b.txt']);
  });
});

describe('a file that is not what was validated', () => {
  const changes: [what: string, change: () => void][] = [
    ['was changed', () => writeFileSync(join(dir, 'src/b.txt'), 'two')],
    ['is longer', () => writeFileSync(join(dir, 'src/b.txt'), 'one and more')],
    ['is gone', () => rmSync(join(dir, 'src/b.txt'))],
    [
      'is a link',
      () => {
        renameSync(join(dir, 'src/b.txt'), join(dir, 'elsewhere.txt'));
        symlinkSync('../elsewhere.txt', join(dir, 'src/b.txt'));
      },
    ],
    [
      'is below a link',
      () => {
        renameSync(join(dir, 'src'), join(dir, 'elsewhere'));
        symlinkSync('elsewhere', join(dir, 'src'));
      },
    ],
  ];
  it.each(changes)('because it %s keeps every file from being written', async (_what, change) => {
    const before = files({ 'a.txt': 'one', 'src/b.txt': 'one' });
    change();
    const findings = [finding(edit('a.txt', 1, 1, 4, 'x')), finding(edit('src/b.txt', 1, 1, 4, 'x'))];
    await expect(applyFixes(dir, before, findings)).rejects.toMatchObject({
      code: 'DRAFT_STALE',
      message: 'src/b.txt was changed after it was validated.',
    });
    expect(read('a.txt')).toBe('one');
    // Where only others are to be mended it stands in nobody's way.
    expect(await applyFixes(dir, before, findings.slice(0, 1))).toHaveLength(1);
    expect(read('a.txt')).toBe('x');
  });
});
