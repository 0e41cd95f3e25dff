import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pax, paxRecords, type TarItem, tar } from '../../../test/support/tar-writer.ts';
import { openLayout } from './index.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-layout-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const plain: TarItem[] = [
  { name: 'oci-layout', content: '{}' },
  { name: 'index.json', content: 'ours' },
  { name: 'blobs/sha256/00', content: 'a blob' },
];

/** What index.json is, as it is read here from a tar of these; or the code by which that is refused. */
async function indexIn(items: TarItem[], end?: Buffer): Promise<string> {
  const path = join(home, 'layout.tar');
  writeFileSync(path, tar(items, end));
  try {
    const layout = await openLayout(path);
    const bytes = await layout.read('index.json', 100).finally(() => layout.close());
    return Buffer.from(bytes ?? '').toString();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const other = (name: string, over: TarItem = {}): TarItem[] => [...plain, { name, content: 'theirs', ...over }];
const header = (content: Buffer | string, type = 'x'): TarItem[] => [
  { name: 'PaxHeader', type, content: Buffer.from(content) },
  ...plain,
];
/** A record whose length counts itself, around any text. */
function record(before: string, rest: string): string {
  for (let length = rest.length; ; length++) {
    const text = `${before}${length}${rest}`;
    if (text.length === length) return text;
  }
}

describe('a tar of a layout', () => {
  it.each<[string, TarItem[]]>([
    ['nothing but its files', plain],
    ['all names after ./', plain.map((item) => ({ ...item, name: `./${item.name}` }))],
    [
      'its directories',
      [
        ...['./', 'blobs/', 'blobs/sha256', './blobs/'].map((name): TarItem => ({ name, type: '5' })),
        ...plain,
        { name: 'blobs/', type: '5' },
      ],
    ],
    ['a file more', other('docs/README.md')],
    ['a name in capitals', other('LICENSE')],
    [
      'pax headers of times, owners and attributes',
      [
        pax([['comment', 'made by a test']], 'g'),
        pax([
          ['mtime', '1767323045.678'],
          ['uname', 'größe'],
          ['SCHILY.xattr.user.note', 'x=y'],
          ['LIBARCHIVE.creationtime', '1'],
        ]),
        ...plain,
      ],
    ],
  ])('is read with %s', async (_what, items) => {
    expect(await indexIn(items)).toBe('ours');
  });

  it('may be filled up with zeros, as much as one that writes blocks of a tape does', async () => {
    for (const length of [0, 512, 1024, 10_240, 1024 * 1024])
      expect(await indexIn(plain, Buffer.alloc(length))).toBe('ours');
    expect(await indexIn(plain, Buffer.alloc(2 * 1024 * 1024))).toBe('ARTIFACT_UNREADABLE');
  });

  it.each<[string, TarItem[]]>([
    ['a dot twice', other('././index.json')],
    ['a slash twice', other('.//index.json')],
    ['a dot inside', other('blobs/./sha256/00')],
    ['a way up', other('x/../index.json')],
    ['a way up at its end', other('x/..')],
    ['an absolute name', other('/index.json')],
    ['a slash at its end', other('index.json/')],
    ['no name', other('')],
    ['a dot for a name', other('./')],
    ['a backslash', other('.\\index.json')],
    ['other capitals', other('Index.json')],
    ['other capitals of a directory', other('Blobs/sha256/01')],
    ['a dot at its end', other('index.json.')],
    ['a control character', other('index.json\r')],
    ['a letter beyond ASCII', other('ındex.json')],
    ['a file for a directory', other('blobs')],
    ['a file below a file', other('index.json/00')],
    ['a directory for a file', other('index.json', { type: '5', content: '' })],
    ['a directory that has content', other('x', { type: '5' })],
    ['a prefix in the form of ustar', other('index.json', { prefix: 'x' })],
    // Python joins it whatever the magic is.
    ['a prefix in the form of GNU', other('00', { prefix: 'blobs/sha256', magic: 'ustar  \0' })],
    ['a prefix in a form before ustar', other('00', { prefix: 'blobs/sha256', magic: '\0\0\0\0\0\0\0\0' })],
  ])('is refused with %s, which others may take for one of its files', async (_what, items) => {
    expect(await indexIn(items)).toBe('ARTIFACT_UNREADABLE');
  });

  it.each<[string, TarItem[]]>([
    ['a path', header(paxRecords([['path', 'index.json']]))],
    ['a path, for all that follow', header(paxRecords([['path', 'index.json']]), 'g')],
    ['a size', header(paxRecords([['size', '1']]))],
    ['a real size', header(paxRecords([['SCHILY.realsize', '1']]))],
    ['a sparse file', header(paxRecords([['GNU.sparse.name', 'index.json']]))],
    ['another character set', header(paxRecords([['hdrcharset', 'BINARY']]))],
    ['a key that nobody knows', header(paxRecords([['x.y', '1']]))],
    [
      'a path beyond what is looked at',
      header(
        paxRecords([
          ['comment', 'a'.repeat(70_000)],
          ['path', 'index.json'],
        ]),
      ),
    ],
    ['a comment without end', header(paxRecords([['comment', 'a'.repeat(70_000)]]))],
    ['two blanks before a key', header(record('', '  path=index.json\n'))],
    ['a tab before a key', header(record('', '\tpath=index.json\n'))],
    ['a blank before a length', header(record(' ', ' path=index.json\n'))],
    ['a zero before a length', header(record('0', ' mtime=1\n'))],
    ['a record in a value', header(paxRecords([['comment', '1\n19 path=index.json']]))],
    ['a length that is too small', header('9 mtime=1\n')],
    ['a length that is too large', header('12 mtime=1\n')],
    ['no line end', header('10 mtime=11')],
    ['no equals sign', header('8 mtime\n')],
    ['a blank line', header('\n')],
    ['zeros', header(Buffer.alloc(10))],
  ])('is refused with a pax header that has %s', async (_what, items) => {
    expect(await indexIn(items)).toBe('ARTIFACT_UNREADABLE');
  });

  it('is refused with anything after its end, which some read on to', async () => {
    const more = tar([{ name: 'index.json', content: 'theirs' }], Buffer.alloc(0));
    for (const zeros of [512, 1024, 10_240])
      expect(await indexIn(plain, Buffer.concat([Buffer.alloc(zeros), more]))).toBe('ARTIFACT_UNREADABLE');
  });
});
