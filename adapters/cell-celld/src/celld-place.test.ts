import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findCelld } from './celld-place.ts';

const stranger = 64_103;
let home: string;
let path: string;
let server: Server;
beforeEach(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-celld-place-')));
  chmodSync(home, 0o755);
  mkdirSync(join(home, 'socket'));
  path = join(home, 'socket', 'celld.sock');
  server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(home, { recursive: true, force: true });
});

const found = (celldUid?: number, at = path): string => {
  try {
    return findCelld(at, celldUid);
  } catch (thrown) {
    return GloveboxError.is(thrown) ? thrown.code : String(thrown);
  }
};

it('finds a celld of our own or of root, and what a link leads to', () => {
  expect(found()).toBe(path);
  symlinkSync(join(home, 'socket'), join(home, 'link'));
  expect(found(undefined, join(home, 'link', 'celld.sock'))).toBe(path);
});

it('finds one of another user only where that one is expected', () => {
  chownSync(path, stranger, stranger);
  expect(found()).toBe('PLACE_UNSAFE');
  expect(found(stranger + 1)).toBe('PLACE_UNSAFE');
  expect(found(stranger)).toBe(path);
  chownSync(join(home, 'socket'), stranger, stranger);
  expect(found(stranger)).toBe(path);
});

it.each<[string, () => void]>([
  ["another's directory", () => chownSync(join(home, 'socket'), stranger, stranger)],
  ['a directory that others can write', () => chmodSync(join(home, 'socket'), 0o777)],
  ['a directory below one that others can write', () => chmodSync(home, 0o777)],
  [
    'a file',
    () => {
      server.close();
      writeFileSync(path, '');
    },
  ],
])('refuses a socket that is %s', (_what, spoil) => {
  spoil();
  expect(found()).toBe('PLACE_UNSAFE');
});

it('says that celld does not answer where there is nothing', () => {
  expect(found(undefined, join(home, 'socket', 'other.sock'))).toBe('CELLD_UNREACHABLE');
  expect(found(undefined, join(home, 'none', 'celld.sock'))).toBe('CELLD_UNREACHABLE');
});
