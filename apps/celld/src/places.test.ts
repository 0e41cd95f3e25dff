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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requirePlaces } from './places.ts';
import { readSettings, type Settings } from './settings.ts';

const stranger = 64_103;
let home: string;
let settings: Settings;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-places-')));
  for (const name of ['programs', 'engine', 'claims', 'run']) mkdirSync(join(home, name), { mode: 0o700 });
  writeFileSync(join(home, 'programs', 'crun'), '', { mode: 0o755 });
  symlinkSync(join(home, 'programs', 'crun'), join(home, 'linked'));
  const given = {
    socket: 'socket/celld.sock',
    'run-dir': 'run',
    images: 'images',
    runtime: 'programs/crun',
    engine: 'engine/engine.sock',
    'claims-dir': 'claims/uids',
  };
  const args = Object.entries(given).flatMap(([name, path]) => [`--${name}`, join(home, path)]);
  settings = readSettings([...args, '--driver', 'docker']) as Settings;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const codeOf = (): string => {
  try {
    requirePlaces(settings);
    return 'none';
  } catch (thrown) {
    return GloveboxError.is(thrown) ? thrown.code : String(thrown);
  }
};

it('takes places that nobody else can change, by a link too', () => {
  expect(codeOf()).toBe('none');
  settings = { ...settings, runtime: join(home, 'linked'), runDirectory: join(home, 'other') };
  expect(codeOf()).toBe('none');
});

it('takes the name of a runtime for what is searched for where only root can write', () => {
  settings = { ...settings, runtime: 'crun' };
  expect(codeOf()).toBe('none');
});

it.each<[string, () => void]>([
  ['a runtime that others can write', () => chmodSync(join(home, 'programs', 'crun'), 0o777)],
  ['a runtime in a directory that others can write', () => chmodSync(join(home, 'programs'), 0o777)],
  ['a runtime of another', () => chownSync(join(home, 'programs', 'crun'), stranger, stranger)],
  [
    'a link to a runtime that others can write',
    () => {
      settings = { ...settings, runtime: join(home, 'linked') };
      chmodSync(join(home, 'programs'), 0o777);
    },
  ],
  ['a runtime that is not there', () => rmSync(join(home, 'programs', 'crun'))],
  ["an engine's socket in a directory that others can write", () => chmodSync(join(home, 'engine'), 0o777)],
  ['claims below a directory of another', () => chownSync(join(home, 'claims'), stranger, stranger)],
  ['its own directory open to others', () => chmodSync(join(home, 'run'), 0o750)],
])('refuses %s', (_what, spoil) => {
  spoil();
  expect(codeOf()).toBe('PLACE_UNSAFE');
});
