import { describe, expect, it } from 'vitest';
import { gnuLongName, pax, type TarItem, tar } from '../../../../test/support/tar-writer.ts';
import { readTar } from './tar.ts';

const file = (name: string, content = 'x'): TarItem => ({ name, content });
const read = (items: TarItem[], end?: Buffer) =>
  readTar(tar(items, end)).map(({ unsafePath, kind, bytes, executable }) => [
    unsafePath,
    kind,
    bytes.toString(),
    executable,
  ]);
const refusal = (items: TarItem[], end?: Buffer) => {
  try {
    readTar(tar(items, end));
  } catch (error) {
    return error;
  }
  throw new Error('it was taken');
};

describe('readTar', () => {
  it('reads files and directories in their order', () => {
    expect(
      read([
        { name: 'package/', type: '5' },
        file('package/a', 'hello'),
        { ...file('package/run', '#!'), mode: 0o755 },
      ]),
    ).toEqual([
      ['package', 'directory', '', false],
      ['package/a', 'file', 'hello', false],
      ['package/run', 'file', '#!', true],
    ]);
  });

  it('joins the ustar prefix to the name, and leaves GNU headers alone', () => {
    expect(read([{ ...file('b'), prefix: 'package/a' }])[0]?.[0]).toBe('package/a/b');
    expect(read([{ ...file('b'), prefix: 'package/a', magic: 'ustar  \0' }])[0]?.[0]).toBe('b');
  });

  it('takes long names from pax headers and from GNU entries', () => {
    const long = `package/${'d/'.repeat(100)}file`;
    expect(read([pax([['path', long]]), file('short')])[0]?.[0]).toBe(long);
    expect(read([gnuLongName(long), file('short')])[0]?.[0]).toBe(long);
  });

  it('takes pax headers that change nothing', () => {
    const fields: [string, string | Buffer][] = [
      ['mtime', '1.5'],
      ['size', '1'],
      ['LIBARCHIVE.xattr.com.apple.x', Buffer.from([0xff, 0x00])],
    ];
    expect(read([pax([['comment', 'abc']], 'g'), pax(fields), file('package/a')])).toHaveLength(1);
  });

  it('drops setuid and setgid bits', () => {
    expect(read([{ ...file('package/a'), mode: 0o6777 }])[0]?.[3]).toBe(true);
    expect(Object.keys(readTar(tar([{ ...file('package/a'), mode: 0o6644 }]))[0] ?? {}).sort()).toEqual([
      'bytes',
      'executable',
      'kind',
      'unsafePath',
    ]);
  });

  const links: [string, TarItem][] = [
    ['a hard link', { ...file('p/a', ''), type: '1', linkname: 'p/b' }],
    ['a symbolic link', { ...file('p/a', ''), type: '2', linkname: '/etc/passwd' }],
    ['a character device', { ...file('p/a', ''), type: '3' }],
    ['a block device', { ...file('p/a', ''), type: '4' }],
    ['a FIFO', { ...file('p/a', ''), type: '6' }],
    ['a contiguous file', { ...file('p/a', ''), type: '7' }],
    ['a GNU sparse file', { ...file('p/a', ''), type: 'S' }],
    ['a GNU directory dump', { ...file('p/a', ''), type: 'D' }],
    ['an unknown type', { ...file('p/a', ''), type: '\xff' }],
    ['a symbolic link with content', { ...file('p/a', 'xx'), type: '2', linkname: 'b' }],
  ];
  it.each(links)('refuses %s and names it', (_what, item) => {
    expect(refusal([file('p/ok'), item])).toMatchObject({ rule: 'ARCHIVE_REFUSED', entry: 'p/a' });
  });

  const forms: [string, TarItem[]][] = [
    ['a long link name', [{ name: '././@LongLink', type: 'K', content: 'x\0' }, file('p/a')]],
    ['a pax link path', [pax([['linkpath', '/etc/passwd']]), file('p/a')]],
    ['a pax sparse map', [pax([['GNU.sparse.major', '1']]), file('p/a')]],
    ['a pax character set', [pax([['hdrcharset', 'BINARY']]), file('p/a')]],
    ['a file capability', [pax([['SCHILY.xattr.security.capability', 'x']]), file('p/a')]],
    ['a pax size that differs', [pax([['size', '2']]), file('p/a')]],
    ['a pax size that is no number', [pax([['size', '-1']]), file('p/a')]],
    [
      'a pax key twice',
      [
        pax([
          ['path', 'p/b'],
          ['path', 'p/c'],
        ]),
        file('p/a'),
      ],
    ],
    ['a pax path with a NUL', [pax([['path', 'p/a\0b']]), file('p/a')]],
    ['an empty pax path', [pax([['path', '']]), file('p/a')]],
    ['a pax path that is not UTF-8', [pax([['path', Buffer.from([0x70, 0x2f, 0xff])]]), file('p/a')]],
    ['a pax record with a wrong length', [{ name: 'x', type: 'x', content: '99 path=a\n' }, file('p/a')]],
    ['a pax record that is no record', [{ name: 'x', type: 'x', content: 'hello' }, file('p/a')]],
    ['two pax headers in a row', [pax([['path', 'p/b']]), pax([['path', 'p/c']]), file('p/a')]],
    ['two long names in a row', [gnuLongName('p/b'), gnuLongName('p/c'), file('p/a')]],
    ['a pax header and a long name', [pax([['path', 'p/b']]), gnuLongName('p/c'), file('p/a')]],
    ['a long name with a NUL in it', [{ name: 'x', type: 'L', content: 'p/a\0../b' }, file('p/a')]],
    ['a global pax path', [pax([['path', 'p/b']], 'g'), file('p/a')]],
    ['a global pax size', [pax([['size', '0']], 'g'), file('p/a')]],
    ['a pax header at the end', [file('p/a'), pax([['path', 'p/b']])]],
    ['a name that is not UTF-8', [{ ...file(''), name: Buffer.from([0x70, 0x2f, 0xff]) }]],
    ['a wrong checksum', [{ ...file('p/a'), checksum: 1 }]],
    ['a binary size', [{ ...file('p/a'), sizeField: Buffer.from('800000000000000000000001', 'hex') }]],
    ['a size that is no number', [{ ...file('p/a'), sizeField: Buffer.from('0000000009 \0') }]],
    ['a size past the end', [{ ...file('p/a'), size: 1 << 20 }]],
    ['a directory with content', [{ ...file('p/a/'), type: '5' }]],
  ];
  it.each(forms)('refuses %s', (_what, items) => {
    expect(refusal(items)).toMatchObject({ rule: 'ARCHIVE_REFUSED' });
  });

  it('refuses bytes behind the end, and takes any number of zero blocks', () => {
    expect(read([file('p/a')], Buffer.alloc(10_240))).toHaveLength(1);
    expect(refusal([file('p/a')], Buffer.concat([Buffer.alloc(1024), Buffer.from('x')]))).toMatchObject({
      rule: 'ARCHIVE_REFUSED',
    });
    expect(refusal([file('p/a')], tar([file('p/b')], Buffer.alloc(0)).fill(0, 0, 512))).toMatchObject({
      rule: 'ARCHIVE_REFUSED',
    });
  });

  it('refuses an archive that is cut short, wherever it is cut', () => {
    const whole = tar([pax([['path', 'p/long']]), file('p/a', 'x'.repeat(700)), file('p/b')], Buffer.alloc(512));
    expect(readTar(whole)).toHaveLength(2);
    for (let length = 0; length < whole.length; length += 101) {
      expect(() => readTar(whole.subarray(0, length))).toThrow(expect.objectContaining({ rule: 'ARCHIVE_REFUSED' }));
    }
  });

  it('refuses more entries than its limit, of whatever kind', () => {
    const many = (item: TarItem, count: number) => tar(Array.from({ length: count }, () => item));
    expect(() => readTar(many({ ...file('p/a', '') }, 20_001))).toThrow(/more than 20000 entries/);
    expect(() => readTar(many(pax([['comment', 'x']], 'g'), 40_001))).toThrow(/more than 20000 entries/);
    expect(readTar(many({ ...file('p/a', '') }, 20_000))).toHaveLength(20_000);
  });

  it('never throws anything but a refusal, whatever single byte of an archive is changed', () => {
    const good = tar([pax([['path', 'p/long']]), gnuOnly(), file('p/b', 'content')]);
    let refused = 0;
    let seed = 42;
    for (let i = 0; i < 4000; i++) {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
      const bytes = Buffer.from(good);
      bytes[seed % good.length] = (seed >> 8) & 0xff;
      try {
        readTar(bytes);
      } catch (error) {
        expect(error).toMatchObject({ rule: 'ARCHIVE_REFUSED' });
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1000);
  });
});

function gnuOnly(): TarItem {
  return { name: 'p/gnu', content: 'y', magic: 'ustar  \0' };
}
