import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageLimits } from '@glovebox/contract/build-limits';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { tar } from '../../../test/support/tar-writer.ts';
import { sha256Of } from './digest.ts';
import { decodeSnapshot, encodeSnapshot } from './snapshot.ts';

const text = (content: string): Uint8Array => Buffer.from(content);
const files = new Map([
  ['src/index.ts', text('export default 1;\n')],
  ['node.json', text('{}')],
  ['größe.txt', text('')],
  [`deep/${'d'.repeat(120)}/file`, text('x'.repeat(513))],
  ['Z', text('z')],
]);

it('is this archive for these files, for ever', () => {
  expect(sha256Of(encodeSnapshot(files))).toBe(
    'sha256:c219f9552edd152c4379916af0b2515513539faad09acb9e2c90482c847eec14',
  );
  expect(sha256Of(encodeSnapshot(new Map([...files].reverse())))).toBe(sha256Of(encodeSnapshot(files)));
});

it('is read by tar: the same names and bytes, sorted by bytes, with nothing of the machine', () => {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-snapshot-'));
  try {
    const archive = encodeSnapshot(files);
    const list = execFileSync('tar', ['--utc', '--full-time', '-tvf', '-'], {
      input: archive,
      encoding: 'utf8',
      env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH },
    });
    expect(
      list
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/ +/g, ' ')),
    ).toEqual([
      '-rw-r--r-- 0/0 1 1970-01-01 00:00:00 Z',
      `-rw-r--r-- 0/0 513 1970-01-01 00:00:00 deep/${'d'.repeat(120)}/file`,
      '-rw-r--r-- 0/0 0 1970-01-01 00:00:00 größe.txt',
      '-rw-r--r-- 0/0 2 1970-01-01 00:00:00 node.json',
      '-rw-r--r-- 0/0 18 1970-01-01 00:00:00 src/index.ts',
    ]);
    execFileSync('tar', ['-xf', '-', '-C', dir], { input: archive });
    for (const [path, content] of files) expect(readFileSync(join(dir, path)).equals(content)).toBe(true);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

it('gives back the files that went in, whatever they are called and hold', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((part) => !/[/\0]/.test(part)),
    fc.stringMatching(/^[a-z]{90,110}$/),
  );
  const path = fc
    .array(name, { minLength: 1, maxLength: 3 })
    .filter((parts) => parts.every((part) => part !== '.' && part !== '..'))
    .map((parts) => parts.join('/'));
  let long = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(path, fc.uint8Array({ maxLength: 1500 })), { maxLength: 8 }), (entries) => {
      const given = new Map(entries);
      if ([...given.keys()].some((key) => Buffer.byteLength(key) > 100)) long++;
      const back = decodeSnapshot(encodeSnapshot(given));
      expect([...back].map(([key, content]) => [key, Buffer.from(content).toString('hex')]).sort()).toEqual(
        [...given].map(([key, content]) => [key, Buffer.from(content).toString('hex')]).sort(),
      );
    }),
    { seed: 7, numRuns: 200 },
  );
  expect(long).toBeGreaterThan(20);
});

it('refuses an archive that differs by any one byte, but in the bytes of the files', () => {
  const archive = Buffer.from(
    encodeSnapshot(
      new Map([
        ['a', text('content')],
        [`ä${'b'.repeat(200)}`, text('x')],
      ]),
    ),
  );
  let taken = 0;
  for (let at = 0; at < archive.length; at++) {
    const changed = Buffer.from(archive);
    changed[at] = (changed[at] ?? 0) ^ 1;
    try {
      decodeSnapshot(changed);
      taken++;
    } catch (error) {
      expect(error).toMatchObject({ code: 'ARCHIVE_REFUSED' });
    }
  }
  // The content's eight bytes, and those of the long name that leave it in its place.
  expect(taken).toBeLessThanOrEqual('content'.length + 1 + `ä${'b'.repeat(200)}`.length + 1);
  expect(taken).toBeGreaterThanOrEqual('content'.length + 1);
});

const good = (): Buffer => Buffer.from(encodeSnapshot(files));
it.each<[string, () => Buffer]>([
  ['nothing', () => Buffer.alloc(0)],
  ['one that is cut short', () => good().subarray(0, -513)],
  ['one block behind its end', () => Buffer.concat([good(), Buffer.alloc(512)])],
  ['bytes behind its end', () => Buffer.concat([good(), Buffer.from('x')])],
  [
    'a name twice',
    () =>
      tar([
        { name: 'a', content: 'x' },
        { name: 'a', content: 'x' },
      ]),
  ],
  ['names out of order', () => tar([{ name: 'b' }, { name: 'a' }])],
  ['a directory', () => tar([{ name: 'a/', type: '5' }])],
  ['a link', () => tar([{ name: 'a', type: '2', linkname: '/etc/passwd' }])],
  ['a path that leads out', () => tar([{ name: '../a' }])],
  ['an absolute path', () => tar([{ name: '/a' }])],
  ['a mode of its own', () => tar([{ name: 'a', mode: 0o755 }])],
  ['a size past its end', () => tar([{ name: 'a', size: 0o7777777777 }])],
  ['too many files', () => tar(Array.from({ length: packageLimits.files + 1 }, (_, i) => ({ name: `f${1000 + i}` })))],
  ['too large a file', () => tar([{ name: 'a', content: Buffer.alloc(packageLimits.fileBytes + 1) }])],
])('refuses %s', (_what, make) => {
  expect(() => decodeSnapshot(make())).toThrow(expect.objectContaining({ code: 'ARCHIVE_REFUSED' }));
});

it('takes what the same writer makes of a plain file', () => {
  expect([...decodeSnapshot(tar([{ name: 'a', content: 'x' }])).keys()]).toEqual(['a']);
});

it.each(['', '/a', 'a/', 'a//b', './a', 'a/../b', '..', 'a\0b', 'a\ud800', `${'x/'.repeat(17)}y`, 'n'.repeat(1025)])(
  'does not put the path %j into an archive',
  (path) => {
    expect(() => encodeSnapshot(new Map([[path, text('')]]))).toThrow(
      expect.objectContaining({ code: 'PACKAGE_NAME_REFUSED' }),
    );
  },
);

it('puts no more into an archive than a package may have', () => {
  const many = (count: number) => new Map(Array.from({ length: count }, (_, i) => [`f${i}`, text('')]));
  const large = (count: number, size: number) =>
    new Map(Array.from({ length: count }, (_, i) => [`f${i}`, new Uint8Array(size)]));
  const { files: count, fileBytes, totalBytes } = packageLimits;
  expect(decodeSnapshot(encodeSnapshot(many(count))).size).toBe(count);
  expect(decodeSnapshot(encodeSnapshot(large(totalBytes / fileBytes, fileBytes))).size).toBe(totalBytes / fileBytes);
  for (const over of [many(count + 1), large(1, fileBytes + 1), large(totalBytes / fileBytes + 1, fileBytes)]) {
    expect(() => encodeSnapshot(over)).toThrow(expect.objectContaining({ code: 'PACKAGE_TOO_LARGE' }));
  }
});
