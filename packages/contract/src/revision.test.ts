import { expect, it } from 'vitest';
import { packageRevision } from './revision.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const files = (list: [string, string][]) => new Map(list.map(([path, content]) => [path, bytes(content)]));

it('is this digest for these files, for ever', () => {
  expect(packageRevision(new Map())).toBe('sha256:ebf6e32da9d9aac28f4f303998a118a1f41ef75d45cb3f8bbb09bfd3b2b61ea2');
  expect(
    packageRevision(
      files([
        ['node.json', '{}'],
        ['src/index.ts', 'export {}'],
      ]),
    ),
  ).toBe('sha256:0d3dfdea329a734be7501e575dca68d71a86a43be540bab8551dc58cba20b80c');
});

it('does not depend on the order in which files were found', () => {
  expect(
    packageRevision(
      files([
        ['b', '2'],
        ['a', '1'],
      ]),
    ),
  ).toBe(
    packageRevision(
      files([
        ['a', '1'],
        ['b', '2'],
      ]),
    ),
  );
});

it('differs when a byte moves between a path and its content, or between files', () => {
  const lists: [string, string][][] = [
    [['a', 'bc']],
    [['ab', 'c']],
    [['abc', '']],
    [
      ['a', 'b'],
      ['c', ''],
    ],
    [
      ['a', ''],
      ['bc', ''],
    ],
    [],
  ];
  expect(new Set(lists.map((list) => packageRevision(files(list)))).size).toBe(lists.length);
});
