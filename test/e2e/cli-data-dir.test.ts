import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { listTree, useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli('none');
const withImages = useCli();
beforeAll(async () => {
  expect((await cli().run(['init'])).code).toBe(0);
  expect((await cli().run(['run', 'list'])).code).toBe(0);
});

let homes = 0;
/** A private directory that holds nothing yet. */
function emptyDir(): string {
  const dir = join(cli().dir, `data-${homes++}`);
  mkdirSync(dir, { mode: 0o700 });
  return dir;
}

describe.concurrent('glovebox.yaml', () => {
  it.each<[string, string | Uint8Array, Record<string, unknown>, RegExp]>([
    ['is no YAML', 'runtime: [crun\n', { line: 2 }, /./],
    ['holds a tab where none may be', 'runtime:\n\tcrun\n', { line: 2, column: 1 }, /[Tt]ab/],
    ['names a setting twice', 'runtime: crun\nruntime: runc\n', { line: 2, column: 1 }, /unique/],
    [
      'names a setting that is none',
      'runtime: auto\nruntme: crun\n',
      { line: 2, column: 1, path: '/runtme' },
      /did you mean runtime/,
    ],
    ['is a list', '- runtime\n', { line: 1, column: 1, path: '' }, /map/],
    ['is text', 'crun\n', { line: 1, column: 1 }, /map/],
    [
      'gives a setting another type',
      '# comment\nruntime: 3\n',
      { line: 2, column: 10, path: '/runtime' },
      /auto, crun, runc/,
    ],
    [
      'names a runtime by a relative path',
      'runtime: ./crun\n',
      { line: 1, column: 10, path: '/runtime' },
      /absolute path/,
    ],
    ['gives a setting no value', 'runtime:\n', { path: '/runtime' }, /absolute path/],
    ['names a registry that is no URL', 'registry: example\n', { line: 1, column: 11, path: '/registry' }, /https:/],
    ['names a registry that is a file', 'registry: file:///etc\n', { path: '/registry' }, /https:/],
    [
      'demands an age without a unit',
      'packages:\n  minimumAge: 7\n',
      { line: 2, column: 15, path: '/packages/minimumAge' },
      /days, hours or minutes/,
    ],
    ['demands an age of nothing', 'packages: { minimumAge: 0d }\n', { line: 1, column: 25 }, /7d/],
    ['demands something else of packages', 'packages:\n  maximumAge: 7d\n', { path: '/packages' }, /minimumAge/],
    ['has aliases', 'runtime: &a crun\nregistry: *a\n', { line: 1 }, /alias/],
    ['has a tag', 'runtime: !!js/function "x"\n', { line: 1 }, /tag/],
    ['is several documents', 'runtime: crun\n---\nruntime: runc\n', {}, /document/],
    ['is not UTF-8', Buffer.from([0x72, 0xff]), {}, /UTF-8/],
    ['is too large', `# ${'x'.repeat(70_000)}\n`, {}, /larger/],
  ])('that %s is refused with its place', async (name, content, place, says) => {
    const dataDir = emptyDir();
    const file = join(dataDir, 'glovebox.yaml');
    writeFileSync(file, content, { mode: 0o600 });
    const all = [['run', 'list'], ['image', 'show'], ['doctor'], ['node', 'run', '.', '--trial']];
    for (const args of name === 'is no YAML' ? all : all.slice(0, 1)) {
      const { code, json } = await cli().run([...args, '--json', '--data-dir', dataDir]);
      expect({ args, code, error: json().error }).toEqual({
        args,
        code: 2,
        error: {
          code: 'CONFIG_INVALID',
          message: expect.stringMatching(says),
          hint: expect.stringMatching(/\S/),
          place: expect.objectContaining({ file, ...place }),
        },
      });
    }
    expect(readdirSync(dataDir)).toEqual(['glovebox.yaml']);
  });

  it.each<[string, (file: string) => void, RegExp]>([
    ['is a directory', (file) => mkdirSync(file), /not a file/],
    ['is a pipe', (file) => execFileSync('mkfifo', [file]), /not a file/],
    ['is a link to nowhere', (file) => symlinkSync('/nonexistent', file), /ENOENT/],
    ['others can change', (file) => writeFileSync(file, '', { mode: 0o600 }) ?? chmodSync(file, 0o666), /chmod 600/],
    ['belongs to somebody else', (file) => writeFileSync(file, '') ?? chownSync(file, 65534, 65534), /somebody else/],
  ])('that %s is refused', async (_, make, says) => {
    const dataDir = emptyDir();
    const file = join(dataDir, 'glovebox.yaml');
    make(file);
    const { code, json } = await cli().run(['run', 'list', '--json', '--data-dir', dataDir]);
    expect({ code, error: json().error }).toMatchObject({
      code: 2,
      error: { code: 'CONFIG_INVALID', message: expect.stringMatching(says), place: { file } },
    });
    expect(readdirSync(dataDir)).toEqual(['glovebox.yaml']);
  });

  it('takes every setting, and needs none', async () => {
    const file = join(cli().dataDir, 'glovebox.yaml');
    for (const content of [
      '',
      '# nothing\n',
      '---\n',
      'runtime: crun\n',
      'runtime: "/usr/bin/crun"\nregistry: https://registry.example.com/\n',
      'packages: {}\n',
      'packages:\n  minimumAge: 90m\n',
    ]) {
      writeFileSync(file, content);
      expect({ content, code: (await cli().run(['run', 'list'])).code }).toEqual({ content, code: 0 });
    }
    // A link to a file that is its owner's is the owner's business.
    rmSync(file);
    writeFileSync(join(cli().dir, 'settings.yaml'), 'runtime: 3\n', { mode: 0o600 });
    symlinkSync(join(cli().dir, 'settings.yaml'), file);
    expect((await cli().run(['run', 'list', '--json'])).json().error?.code).toBe('CONFIG_INVALID');
    rmSync(file);
  });
});

describe.concurrent('a data directory that', () => {
  it.each<[string, (dir: string) => string | undefined, string]>([
    ['is a file', (dir) => writeFileSync(dir, 'mine') as undefined, 'DATA_DIR_UNUSABLE'],
    ['is a link', (dir) => symlinkSync(cli().dataDir, dir) as undefined, 'DATA_DIR_UNUSABLE'],
    [
      'others can reach',
      (dir) => mkdirSync(dir, { mode: 0o700 }) ?? (chmodSync(dir, 0o755) as undefined),
      'DATA_DIR_UNUSABLE',
    ],
    [
      'everyone can write',
      (dir) => mkdirSync(dir, { mode: 0o700 }) ?? (chmodSync(dir, 0o777) as undefined),
      'DATA_DIR_UNUSABLE',
    ],
    [
      'belongs to somebody else',
      (dir) => mkdirSync(dir, { mode: 0o700 }) ?? (chownSync(dir, 65534, 65534) as undefined),
      'DATA_DIR_UNUSABLE',
    ],
    [
      'lies in a file',
      (dir) => {
        writeFileSync(dir, '');
        return join(dir, 'data');
      },
      'DATA_DIR_UNUSABLE',
    ],
    ['cannot be made', () => '/proc/glovebox', 'DATA_DIR_UNUSABLE'],
    ['has a name that is too long', (dir) => join(dir, '..', 'x'.repeat(300)), 'DATA_DIR_UNUSABLE'],
    ['has a foreign instance file', (dir) => made(dir, 'instance.json', '{"schema":"other"}'), 'DATA_DIR_UNUSABLE'],
    ['has half an instance file', (dir) => made(dir, 'instance.json', '{"sche'), 'DATA_DIR_UNUSABLE'],
    [
      'has an instance file that is a link',
      (dir) =>
        made(dir, 'instance.json', (path) => {
          renameSync(path, `${path}.x`);
          symlinkSync(`${path}.x`, path);
        }),
      'DATA_DIR_UNUSABLE',
    ],
    ['has lost its key', (dir) => made(dir, 'keys/signing.pem', (path) => rmSync(path)), 'KEY_UNUSABLE'],
    ['has half a key', (dir) => made(dir, 'keys/signing.pem', '-----BEGIN PRIVATE KEY-----\n'), 'KEY_UNUSABLE'],
    [
      'has a key that others can read',
      (dir) => made(dir, 'keys/signing.pem', (path) => chmodSync(path, 0o644)),
      'KEY_UNUSABLE',
    ],
    ['has keys that others can reach', (dir) => made(dir, 'keys', (path) => chmodSync(path, 0o755)), 'KEY_UNUSABLE'],
    ['has a database that is none', (dir) => made(dir, 'glovebox.db', 'x'.repeat(8192)), 'STORE_CORRUPTED'],
    [
      'has a database that was cut short',
      (dir) => made(dir, 'glovebox.db', (path) => execFileSync('truncate', ['-s', '5000', path])),
      'STORE_CORRUPTED',
    ],
    [
      'has a database of something else',
      (dir) => made(dir, 'glovebox.db', (path) => alter(path, 'PRAGMA application_id = 7')),
      'STORE_CORRUPTED',
    ],
    [
      'has a database of a newer Glovebox',
      (dir) => made(dir, 'glovebox.db', (path) => alter(path, 'PRAGMA user_version = 999')),
      'STORE_TOO_NEW',
    ],
    [
      'has a directory in place of its database',
      (dir) =>
        made(dir, 'glovebox.db', (path) => {
          rmSync(path);
          mkdirSync(path);
        }),
      'DATA_DIR_UNUSABLE',
    ],
  ])('%s is refused, and left as it is', async (name, make, code) => {
    const parent = emptyDir();
    const dir = join(parent, 'bad');
    const dataDir = make(dir) ?? dir;
    const before = snapshot(parent);
    // What is kept beside the records needs none of them.
    const isOfStore = code.startsWith('STORE') || name.endsWith('of its database');
    for (const args of [['run', 'list'], isOfStore ? ['node', 'run', '.', '--trial'] : ['image', 'build']]) {
      const { code: exit, json, stderr } = await cli().run([...args, '--json', '--data-dir', dataDir]);
      expect({ args, exit, error: json().error?.code, stderr }).toEqual({ args, exit: 3, error: code, stderr: '' });
      expect(json().error?.hint).toMatch(/\S/);
    }
    expect(snapshot(parent)).toEqual(before);
  });

  it('is no good is told by doctor among everything else', async () => {
    const dataDir = emptyDir();
    chmodSync(dataDir, 0o755);
    const { code, stdout } = await cli().run(['doctor', '--data-dir', dataDir]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/✗ data-directory .*can be reached by others\.\n +hint: Run: chmod 700/);
    expect(stdout).toMatch(/✓ kernel/);
  });

  it.each(['blobs', 'cache', 'run', 'images'])(
    'has a file in place of %s is told so, and left as it is',
    async (name) => {
      const source = {
        id: 'good',
        body: `await ctx.files.write('a.txt', 'a', 'text/plain'); return 1;`,
        manifest: { capabilities: { files: { maxBytes: '1MiB', maxCount: 1 } } },
      };
      const dir = await cli().node(`with-${name}`, source);
      const dataDir = emptyDir();
      if (name !== 'images') execFileSync('cp', ['-al', join(withImages().dataDir, 'images'), join(dataDir, 'images')]);
      writeFileSync(join(dataDir, name), 'mine');
      const ran = await cli().run(['node', 'run', dir, '--trial', '--json', '--data-dir', dataDir]);
      // A cache that cannot be used fails no build.
      if (name === 'cache') expect({ code: ran.code, output: ran.json().output }).toEqual({ code: 0, output: 1 });
      else
        expect({ code: ran.code, error: ran.json().error }).toMatchObject({
          code: 3,
          error: { code: 'DATA_DIR_UNUSABLE' },
        });
      expect(readFileSync(join(dataDir, name), 'utf8')).toBe('mine');
    },
  );
});

/** A copy of the good data directory in which one thing is changed: its content, or as the function does. */
function made(dir: string, name: string, change: string | ((path: string) => void)): undefined {
  mkdirSync(join(dir, 'keys'), { recursive: true, mode: 0o700 });
  for (const file of ['instance.json', 'glovebox.db', 'keys/signing.pem', 'keys/signing.pub.pem']) {
    copyFileSync(join(cli().dataDir, file), join(dir, file));
    chmodSync(join(dir, file), 0o600);
  }
  const path = join(dir, name);
  if (typeof change === 'string') writeFileSync(path, change);
  else change(path);
}

function alter(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

/** What a database opens beside itself while it is looked at may stay. */
function snapshot(dir: string): string[] {
  return [...readdirSync(dir), ...listTree(dir).filter((line) => !/glovebox\.db-(wal|shm)/.test(line))];
}
