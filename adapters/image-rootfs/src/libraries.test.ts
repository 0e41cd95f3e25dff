import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { elfMachines, readElf } from './elf.ts';
import { findLibraries } from './libraries.ts';

const node = process.execPath;
const failure = (promise: Promise<unknown>): Promise<GloveboxError> =>
  promise.then(
    () => expect.fail('was not refused'),
    (error: unknown) => error as GloveboxError,
  );

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'glovebox-libs-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A host that has just what Node.js loads, each library in the directory `dir`. */
async function plantHost(dir: string): Promise<void> {
  for (const { name, source, imagePath } of await findLibraries(node, '/')) {
    const target = join(root, name.startsWith('ld-linux') ? imagePath : join(dir, name));
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(source, target);
  }
}

describe('on this host', () => {
  it('finds the loader and the libraries that the loader itself says it uses', async () => {
    const libraries = await findLibraries(node, '/');
    const told = execFileSync(
      libraries.find(({ name }) => name.startsWith('ld-linux'))?.source ?? '',
      ['--list', node],
      { encoding: 'utf8' },
    );
    const loaded = told
      .split('\n')
      .map((line) => line.trim().split(/\s+/)[0] ?? '')
      .filter((name) => name !== '' && !name.startsWith('linux-vdso'))
      .map((name) => basename(name));
    expect(libraries.map(({ name }) => name).sort()).toEqual(loaded.sort());
    for (const { source } of libraries) expect((await readElf(source))?.machine).toBe(elfMachines[process.arch]);
  });

  it('needs no library for a static binary', async () => {
    const esbuild = join(import.meta.dirname, `../../../node_modules/@esbuild/linux-${process.arch}/bin/esbuild`);
    expect(await findLibraries(esbuild, '/')).toEqual([]);
  });
});

describe('a host in a directory', () => {
  it('names every library that is missing and the Debian package that has it', async () => {
    await plantHost('/usr/lib64');
    expect(await findLibraries(node, root)).toHaveLength((await findLibraries(node, '/')).length);
    rmSync(join(root, 'usr/lib64/libatomic.so.1'));
    rmSync(join(root, 'usr/lib64/libstdc++.so.6'));
    const error = await failure(findLibraries(node, root));
    expect(error).toMatchObject({ code: 'IMAGE_BUILD_FAILED' });
    expect(error.message).toContain('libatomic.so.1');
    expect(error.message).toContain('libstdc++.so.6');
    expect(error.hint).toContain('apt-get install libatomic1 libstdc++6');
  });

  it('finds libraries where ld.so.conf says, through includes, and puts them where the loader of the image looks', async () => {
    await plantHost('/usr/lib64');
    const odd = join(root, 'opt/odd');
    mkdirSync(odd, { recursive: true });
    execFileSync('mv', [join(root, 'usr/lib64/libatomic.so.1'), odd]);
    expect(await failure(findLibraries(node, root))).toMatchObject({ code: 'IMAGE_BUILD_FAILED' });
    mkdirSync(join(root, 'etc/ld.so.conf.d'), { recursive: true });
    writeFileSync(join(root, 'etc/ld.so.conf'), 'include ld.so.conf.d/*.conf # all of them\ninclude ld.so.conf\n');
    writeFileSync(join(root, 'etc/ld.so.conf.d/odd.conf'), '# comment\n/opt/odd\n');
    const found = (await findLibraries(node, root)).find(({ name }) => name === 'libatomic.so.1');
    expect(found).toMatchObject({ source: join(odd, 'libatomic.so.1'), imagePath: '/usr/lib64/libatomic.so.1' });
  });

  it('passes over a library of another architecture, and takes the right one behind it', async () => {
    await plantHost('/usr/lib64');
    const foreign = readFileSync(join(root, 'usr/lib64/libatomic.so.1'));
    foreign.writeUInt16LE(8, 18);
    mkdirSync(join(root, 'lib64'), { recursive: true });
    writeFileSync(join(root, 'lib64/libatomic.so.1'), foreign);
    const found = (await findLibraries(node, root)).find(({ name }) => name === 'libatomic.so.1');
    expect(found?.source).toBe(join(root, 'usr/lib64/libatomic.so.1'));
    rmSync(join(root, 'usr/lib64/libatomic.so.1'));
    expect(await failure(findLibraries(node, root))).toMatchObject({
      message: expect.stringContaining('libatomic.so.1'),
    });
  });

  it('names the loader on a host with another C library', async () => {
    const error = await failure(findLibraries(node, root));
    expect(error).toMatchObject({ code: 'IMAGE_BUILD_FAILED', message: expect.stringContaining('ld-linux') });
    expect(error.hint).toContain('musl');
  });
});

describe('files that are no sound binaries', () => {
  it('tells a text and an empty file from a binary', async () => {
    for (const text of ['', 'MZ', '#!/bin/sh\n']) {
      writeFileSync(join(root, 'x'), text);
      expect(await readElf(join(root, 'x'))).toBeUndefined();
      expect(await failure(findLibraries(join(root, 'x'), '/'))).toMatchObject({ code: 'IMAGE_BUILD_FAILED' });
    }
  });

  it('ends in a typed error for every length at which a binary can be cut, and reads the whole one', async () => {
    const whole = join(root, 'whole');
    const [library] = (await findLibraries(node, '/')).filter(({ name }) => name === 'libatomic.so.1');
    copyFileSync(library?.source ?? '', whole);
    expect((await readElf(whole))?.needed).toContain('libc.so.6');
    let refused = 0;
    for (const length of [5, 63, 64, 65, 120, 500, 1000, 2000, 4000, 8000]) {
      copyFileSync(whole, join(root, 'cut'));
      truncateSync(join(root, 'cut'), length);
      await readElf(join(root, 'cut')).catch((error: unknown) => {
        refused++;
        expect(error).toMatchObject({ code: 'IMAGE_BUILD_FAILED' });
      });
    }
    expect(refused).toBeGreaterThan(3);
  });

  it('ends in a typed error or a reading for any single damaged byte of the headers', async () => {
    const [library] = (await findLibraries(node, '/')).filter(({ name }) => name === 'libatomic.so.1');
    const bytes = readFileSync(library?.source ?? '');
    for (let at = 4; at < 64 + 56 * 4; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = 0xff;
      writeFileSync(join(root, 'damaged'), damaged);
      await readElf(join(root, 'damaged')).catch((error: unknown) => expect(GloveboxError.is(error)).toBe(true));
    }
  });
});
