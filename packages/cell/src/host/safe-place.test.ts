import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireDirectory, requirePrivateDirectory, requireSafeTree } from './safe-place.ts';

const stranger = 64_103;
let home: string;
let place: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-place-')));
  chmodSync(home, 0o755);
  place = join(home, 'above', 'place');
  mkdirSync(place, { recursive: true, mode: 0o755 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const codeOf = (action: () => void): string => {
  try {
    action();
    return 'none';
  } catch (thrown) {
    return GloveboxError.is(thrown) ? thrown.code : String(thrown);
  }
};

describe('a directory', () => {
  it('that nobody else can change is taken, below one with the sticky bit too', () => {
    expect(codeOf(() => requireDirectory(place))).toBe('none');
    chmodSync(join(home, 'above'), 0o1777);
    expect(codeOf(() => requireDirectory(place))).toBe('none');
  });

  it.each<[string, () => void]>([
    ['others can write in it', () => chmodSync(place, 0o757)],
    ['a group can write in it', () => chmodSync(place, 0o775)],
    ['it has the sticky bit and others can write', () => chmodSync(place, 0o1777)],
    ["it is another's", () => chownSync(place, stranger, stranger)],
    ['others can write above it', () => chmodSync(join(home, 'above'), 0o777)],
    ["what is above it is another's", () => chownSync(join(home, 'above'), stranger, stranger)],
    ['it is not there', () => rmSync(place, { recursive: true })],
    [
      'it is a link',
      () => {
        renameSync(place, join(home, 'real'));
        symlinkSync(join(home, 'real'), place);
      },
    ],
    [
      'a link leads to it',
      () => {
        renameSync(join(home, 'above'), join(home, 'real'));
        symlinkSync('real', join(home, 'above'));
      },
    ],
    [
      'it is a file',
      () => {
        rmSync(place, { recursive: true });
        writeFileSync(place, '');
      },
    ],
  ])('is refused where %s', (_why, spoil) => {
    spoil();
    expect(codeOf(() => requireDirectory(place))).toBe('PLACE_UNSAFE');
  });
});

describe('a private directory', () => {
  it('is made where it is not there, for nobody else', () => {
    const path = join(place, 'own');
    requirePrivateDirectory(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    requirePrivateDirectory(path);
  });

  it('is refused where others can look into it', () => {
    expect(codeOf(() => requirePrivateDirectory(place))).toBe('PLACE_UNSAFE');
    chmodSync(place, 0o700);
    expect(codeOf(() => requirePrivateDirectory(place))).toBe('none');
  });
});

describe('a tree', () => {
  beforeEach(() => {
    mkdirSync(join(place, 'usr', 'bin'), { recursive: true });
    writeFileSync(join(place, 'usr', 'bin', 'node'), '', { mode: 0o555 });
    symlinkSync('/etc/passwd', join(place, 'usr', 'link'));
    mkdirSync(join(place, 'tmp'));
    chmodSync(join(place, 'tmp'), 0o1777);
  });

  it('is taken with links in it, which nobody follows, and with what is left out', () => {
    expect(codeOf(() => requireSafeTree(place, ['tmp']))).toBe('none');
    expect(codeOf(() => requireSafeTree(place))).toBe('PLACE_UNSAFE');
  });

  it.each<[string, () => void]>([
    ['a file that others can write', () => chmodSync(join(place, 'usr', 'bin', 'node'), 0o666)],
    ["another's file", () => chownSync(join(place, 'usr', 'bin', 'node'), stranger, stranger)],
    ['a directory that a group can write', () => chmodSync(join(place, 'usr', 'bin'), 0o775)],
    [
      'a directory of that name deeper down',
      () => {
        mkdirSync(join(place, 'usr', 'tmp'));
        chmodSync(join(place, 'usr', 'tmp'), 0o1777);
      },
    ],
  ])('is refused with %s', (_what, spoil) => {
    spoil();
    expect(codeOf(() => requireSafeTree(place, ['tmp']))).toBe('PLACE_UNSAFE');
  });
});
