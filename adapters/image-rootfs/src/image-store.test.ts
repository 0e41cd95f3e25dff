import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GloveboxError } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createImageStore, type ImageStoreOptions } from './image-store.ts';
import type { ImageSources } from './inputs.ts';
import type { TypeTools } from './type-tools.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-images-'));
  plantSources(join(home, 'sources'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function plantSources(dir: string): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), '{"name":"sources","version":"1.2.3"}');
  writeFileSync(
    join(dir, 'shared.ts'),
    "export const greet = (name: string): string => ['hello from', name].join(' ');\n",
  );
  for (const name of ['harness', 'probe', 'builder', 'typeChecker', 'tester']) {
    writeFileSync(join(dir, `${name}.ts`), `import { greet } from './shared.ts';\nconsole.log(greet('${name}'));\n`);
  }
  writeFileSync(join(dir, 'sdk.ts'), 'export const defineNode = <T>(handler: T): T => handler;\n');
  writeFileSync(join(dir, 'lib.esnext.d.ts'), 'interface Array<T> {}\n');
  mkdirSync(join(dir, 'types/ts5.6'), { recursive: true });
  writeFileSync(join(dir, 'types/package.json'), '{"name":"@types/node"}');
  writeFileSync(join(dir, 'types/index.d.ts'), 'declare const process: object;\n');
  writeFileSync(join(dir, 'types/ts5.6/index.d.ts'), 'declare const old: object;\n');
}

/** A small program in the place of Node.js keeps the tests quick where the program is not run. */
const small = { path: '/bin/true', version: '0.0.0-small' };

/** And so do a small compiler and few declarations. */
const smallTypes = (dir: string): TypeTools => ({
  tsc: small,
  libraries: dir,
  packages: [{ name: '@types/node', version: '0.0.0-small', dir: join(dir, 'types') }],
});

const sourcesIn = (dir: string): Partial<ImageSources> =>
  Object.fromEntries(
    ['harness', 'probe', 'builder', 'typeChecker', 'tester', 'sdk'].map((part) => [part, join(dir, `${part}.ts`)]),
  );

const optionsFor = (name: string, more: Partial<ImageStoreOptions> = {}): ImageStoreOptions => ({
  dataDir: join(home, name),
  node: small,
  stdio: Buffer.from('standard streams'),
  sysprobe: Buffer.from('system-call probe'),
  types: smallTypes(join(home, 'sources')),
  sources: sourcesIn(join(home, 'sources')),
  ...more,
});

const failure = (promise: Promise<unknown>): Promise<GloveboxError> =>
  promise.then(
    () => expect.fail('was not refused'),
    (error: unknown) => error as GloveboxError,
  );

const digests = (images: { digest: string }[]): string[] => images.map(({ digest }) => digest);
const staged = (name: string): string[] => readdirSync(join(home, name, 'images/staging'));

/** Builds in a process of its own and prints the digests. */
const builderScript = `
  import { createImageStore } from ${JSON.stringify(join(import.meta.dirname, 'image-store.ts'))};
  const [options, umask] = JSON.parse(process.argv[1]);
  process.umask(umask);
  process.stdout.write('started\\n');
  const images = await createImageStore({ ...options, stdio: Buffer.from('standard streams'), sysprobe: Buffer.from('system-call probe') }).build({});
  process.stdout.write(JSON.stringify(images.map(({ digest }) => digest)));`;
const startBuilder = (options: ImageStoreOptions, umask = 0o022) =>
  spawn(process.execPath, ['--input-type=module', '-e', builderScript, JSON.stringify([options, umask])], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
async function finishBuilder(child: ReturnType<typeof startBuilder>): Promise<string[]> {
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  return JSON.parse(text.slice(text.indexOf('\n'))) as string[];
}

describe('the images', () => {
  it('hold Node.js, what it loads, our code and nothing else, and Node.js runs in them', async () => {
    const { node: _, types: __, ...options } = optionsFor('data');
    const store = createImageStore(options);
    const [runtime, builder] = await store.build({});
    if (runtime === undefined || builder === undefined) return expect.fail('two images are made');
    const listed = (root: string): string[] =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => !/^lib(64)?\//.test(path))
        .sort();
    expect(listed(runtime.rootfs)).toEqual(
      [
        ...[
          'dev',
          'etc',
          'etc/group',
          'etc/nsswitch.conf',
          'etc/passwd',
          'glovebox',
          'glovebox/harness.cjs',
          'glovebox/harness.code',
          'glovebox/harness.js',
          'glovebox/probe.cjs',
        ],
        ...['glovebox/stdio', 'glovebox/sysprobe', 'lib', 'lib64', 'proc', 'tmp', 'usr', 'usr/bin', 'usr/bin/node'],
      ].sort(),
    );
    const toolchain = listed(builder.rootfs).filter((path) => !listed(runtime.rootfs).includes(path));
    const declarations =
      /^toolchain\/(typescript\/lib\.[\w.]+\.ts|node_modules\/(@types\/node|undici-types)(\/.+\.d\.ts|\/[\w-]+)?)$/;
    const runtimeOfSdk = /^toolchain\/testing-sdk\/[a-z-]+\.ts$/;
    expect(toolchain.filter((path) => !declarations.test(path) && !runtimeOfSdk.test(path))).toEqual([
      ...['glovebox/builder.cjs', 'glovebox/tester.cjs', 'glovebox/type-checker.cjs', 'toolchain'],
      ...['toolchain/esbuild', 'toolchain/node_modules', 'toolchain/node_modules/@types'],
      ...['@types/node', 'undici-types'].map((name) => `toolchain/node_modules/${name}/package.json`),
      ...['toolchain/sdk', 'toolchain/sdk/index.js', 'toolchain/sdk/package.json'],
      ...['toolchain/testing-sdk', 'toolchain/testing-sdk/package.json', 'toolchain/tsconfig.json'],
      ...['toolchain/types', 'toolchain/types/index.d.ts', 'toolchain/types/testing.d.ts'],
      ...['toolchain/typescript', 'toolchain/typescript/tsc'],
    ]);
    for (const path of ['typescript/lib.d.ts', 'node_modules/@types/node/fs/promises.d.ts', 'testing-sdk/testing.ts'])
      expect(toolchain).toContain(`toolchain/${path}`);
    expect(toolchain.join('\n')).not.toContain('ts5.6');
    expect(runtime.contents).toMatchObject({ node: process.versions.node });
    expect(builder.contents).toMatchObject({
      node: process.versions.node,
      sdk: '1.2.3',
      esbuild: expect.stringMatching(/^\d/),
      typescript: '7.0.2',
      '@types/node': '26.6.7',
    });
    expect(lstatSync(join(runtime.rootfs, 'usr/bin/node')).ino).toBe(
      lstatSync(join(builder.rootfs, 'usr/bin/node')).ino,
    );
    expect(await store.current('runtime')).toEqual(runtime);
    expect(await store.verify('builder')).toEqual(builder);
    if (process.getuid?.() !== 0) return;
    const inside = (...argv: string[]): string =>
      execFileSync('chroot', ['--userspec=65532:65532', builder.rootfs, ...argv], {
        env: { PATH: process.env.PATH },
        encoding: 'utf8',
      }).trim();
    expect(inside('/usr/bin/node', '/glovebox/harness.cjs')).toBe('hello from harness');
    expect(inside('/usr/bin/node', '-p', 'process.version + os.userInfo().username')).toBe(`${process.version}cell`);
    expect(inside('/toolchain/esbuild', '--version')).toBe(builder.contents.esbuild);
    // It wants /proc, which a plain chroot has not.
    expect(execFileSync(join(builder.rootfs, 'toolchain/typescript/tsc'), ['--version'], { encoding: 'utf8' })).toBe(
      `Version ${builder.contents.typescript}\n`,
    );
  });

  it('are not writable and have the same modes whatever the umask', async () => {
    const open = await finishBuilder(startBuilder(optionsFor('open'), 0));
    const closed = await finishBuilder(startBuilder(optionsFor('closed'), 0o777));
    expect(closed).toEqual(open);
    const root = (await createImageStore(optionsFor('closed')).current('builder')).rootfs;
    for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const stats = lstatSync(join(root, path));
      const mode = stats.mode & 0o7777;
      if (path === 'tmp') expect(mode).toBe(0o1777);
      else if (stats.isDirectory()) expect(mode).toBe(0o755);
      else expect([0o444, 0o555]).toContain(mode);
      expect(stats.uid).toBe(process.getuid?.());
    }
  });

  it('have the same digests from sources at another path at another time, and others from other sources', async () => {
    const first = digests(await createImageStore(optionsFor('first')).build({}));
    const elsewhere = join(home, 'deeper/down');
    cpSync(join(home, 'sources'), elsewhere, { recursive: true });
    for (const name of readdirSync(elsewhere)) utimesSync(join(elsewhere, name), 1, 1);
    const sources = sourcesIn(elsewhere);
    const second = digests(await createImageStore(optionsFor('second', { sources })).build({}));
    expect(second).toEqual(first);
    writeFileSync(join(elsewhere, 'sdk.ts'), 'export const defineNode = 1;\n');
    const third = digests(await createImageStore(optionsFor('third', { sources })).build({}));
    expect(third[0]).toBe(first[0]);
    expect(third[1]).not.toBe(first[1]);
  });

  it('made of the real sources have the same digests in a clone elsewhere', async () => {
    const packages = join(import.meta.dirname, '../../../packages');
    const clone = join(home, 'clone');
    mkdirSync(join(clone, 'node_modules/@glovebox'), { recursive: true });
    for (const name of readdirSync(packages)) {
      cpSync(join(packages, name), join(clone, 'packages', name), { recursive: true });
      symlinkSync(join(clone, 'packages', name), join(clone, 'node_modules/@glovebox', name));
    }
    const guest = join(clone, 'packages/guest/src');
    const sources = {
      harness: join(guest, 'harness.ts'),
      probe: join(guest, 'probe.ts'),
      builder: join(guest, 'builder.ts'),
      typeChecker: join(guest, 'type-checker.ts'),
      tester: join(guest, 'tester.ts'),
      sdk: join(clone, 'packages/sdk/src/index.ts'),
    };
    const here = await createImageStore({ dataDir: join(home, 'here'), node: small }).build({});
    const there = createImageStore({ dataDir: join(home, 'there'), node: small, sources });
    expect(digests(await there.build({}))).toEqual(digests(here));
    expect(await createImageStore({ dataDir: join(home, 'here'), node: small, sources }).current('builder')).toEqual(
      here[1],
    );
    writeFileSync(sources.probe, `${readFileSync(sources.probe, 'utf8')}\nconsole.log('changed');\n`);
    expect(await failure(there.current('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
  });

  it('are OCI images: the digest is that of the config, and each layer digest is that of what GNU tar makes of the layer', async () => {
    const store = createImageStore(optionsFor('data'));
    const [, builder] = await store.build({});
    const dir = join(builder?.rootfs ?? '', '..');
    const config = readFileSync(join(dir, 'config.json'));
    expect(builder?.digest).toBe(`sha256:${createHash('sha256').update(config).digest('hex')}`);
    const { rootfs, history } = JSON.parse(config.toString()) as { rootfs: { diff_ids: string[] }; history: object[] };
    const layers = JSON.parse(readFileSync(join(dir, 'layers.json'), 'utf8')) as { path: string }[][];
    expect(history).toHaveLength(3);
    const made = layers.map((layer) => {
      const canonical = [
        '--format=ustar',
        '-b1',
        '--mtime=@0',
        '--owner=0',
        '--group=0',
        '--numeric-owner',
        '--no-recursion',
      ];
      const tar = execFileSync(
        'tar',
        ['-C', join(dir, 'rootfs'), ...canonical, '-cf', '-', ...layer.map(({ path }) => path)],
        {
          maxBuffer: 256 * 1024 * 1024,
        },
      );
      return `sha256:${createHash('sha256').update(tar).digest('hex')}`;
    });
    expect(rootfs.diff_ids).toEqual(made);
  });
});

describe('what is current', () => {
  it('is missing before the first build, the same after a second build, and found by another store of the same directory', async () => {
    const store = createImageStore(optionsFor('data'));
    expect(await failure(store.current('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
    expect(await failure(store.verify('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
    const first = await store.build({});
    expect(await store.build({})).toEqual(first);
    expect(await store.build({ force: true })).toEqual(first);
    expect(await createImageStore(optionsFor('data')).current('builder')).toEqual(first[1]);
    expect(staged('data')).toEqual([]);
  });

  it.each(['shared.ts', 'sdk.ts', 'package.json'])(
    'goes stale when %s changes, not when it is only touched',
    async (name) => {
      const store = createImageStore(optionsFor('data'));
      const before = await store.build({});
      const path = join(home, 'sources', name);
      utimesSync(path, 5, 5);
      expect(await store.current('builder')).toEqual(before[1]);
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replace(/hello|defineNode|1\.2\.3/, (word) => word.replace(/[e3]/, '9')),
      );
      expect(await failure(store.current('builder'))).toMatchObject({
        code: 'IMAGE_MISSING',
        message: expect.stringContaining(name),
      });
      const after = await store.build({});
      expect(after[1]?.digest).not.toBe(before[1]?.digest);
      expect(await store.current('builder')).toEqual(after[1]);
      expect(existsSync(before[1]?.rootfs ?? '')).toBe(true);
    },
  );

  it('goes stale with another Node.js, another system-call probe and another library', async () => {
    const library = join(home, 'host/usr/lib64/libc.so.6');
    cpSync('/lib64', join(home, 'host/lib64'), {
      recursive: true,
      dereference: true,
      filter: (path) => /lib64$|ld-linux/.test(path),
    });
    mkdirSync(join(home, 'host/usr/lib64'), { recursive: true });
    cpSync(execFileSync('readlink', ['-f', libcOfHost()], { encoding: 'utf8' }).trim(), library);
    const options = optionsFor('data', { systemRoot: join(home, 'host') });
    const [runtime] = await createImageStore(options).build({});
    expect(await createImageStore(options).current('runtime')).toEqual(runtime);
    const others: Partial<ImageStoreOptions>[] = [
      { node: { ...small, version: '0.0.1' } },
      { node: { ...small, path: '/bin/ls' } },
      { sysprobe: Buffer.from('another') },
      { stdio: Buffer.from('another') },
    ];
    for (const other of others) {
      expect(await failure(createImageStore({ ...options, ...other }).current('runtime'))).toMatchObject({
        code: 'IMAGE_MISSING',
      });
    }
    const bytes = readFileSync(library);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(library, bytes);
    expect(await failure(createImageStore(options).current('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
  });

  it('is missing when the index or the files are gone or torn, and a build brings it back', async () => {
    const store = createImageStore(optionsFor('data'));
    const built = await store.build({});
    const index = join(home, 'data/images/index.json');
    const harm = [
      () => rmSync(index),
      () => writeFileSync(index, readFileSync(index).subarray(0, 100)),
      () => writeFileSync(index, '{"schema":"glovebox.images/9"}'),
      () => rmSync(built[0]?.rootfs ?? '', { recursive: true }),
    ];
    for (const destroy of harm) {
      destroy();
      expect(await failure(store.current('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
      expect(digests(await store.build({}))).toEqual(digests(built));
      expect((await store.verify('runtime')).digest).toBe(built[0]?.digest);
    }
  });
});

describe('verification', () => {
  const harms: [string, (image: string) => void][] = [
    ['a changed byte', (image) => rewrite(join(image, 'rootfs/usr/bin/node'), (bytes) => bytes.fill(1, 200, 201))],
    ['a changed mode', (image) => chmodSync(join(image, 'rootfs/usr/bin/node'), 0o4755)],
    ['a changed mode of a directory', (image) => chmodSync(join(image, 'rootfs/glovebox'), 0o777)],
    [
      'a changed owner',
      (image) =>
        process.getuid?.() === 0
          ? chownSync(join(image, 'rootfs/usr/bin/node'), 1, 1)
          : chmodSync(join(image, 'rootfs/usr/bin/node'), 0o755),
    ],
    ['a removed file', (image) => rmSync(join(image, 'rootfs/glovebox/probe.cjs'))],
    ['an added file', (image) => writeFileSync(join(image, 'rootfs/glovebox/extra.cjs'), '')],
    ['an added link', (image) => symlinkSync('/', join(image, 'rootfs/tmp/root'))],
    [
      'a link in the place of a file',
      (image) => {
        const path = join(image, 'rootfs/glovebox/harness.cjs');
        cpSync(path, join(home, 'copy.cjs'));
        rmSync(path);
        symlinkSync(join(home, 'copy.cjs'), path);
      },
    ],
    ['a changed config', (image) => rewrite(join(image, 'config.json'), (bytes) => bytes.fill('x', 3, 4))],
    ['a missing record', (image) => rmSync(join(image, 'layers.json'))],
    [
      'a file that was changed together with its record',
      (image) => {
        const path = join(image, 'rootfs/glovebox/harness.cjs');
        const hash = (): string => createHash('sha256').update(readFileSync(path)).digest('hex');
        const before = hash();
        rewrite(path, (bytes) => bytes.fill('x', 0, 1));
        const record = join(image, 'layers.json');
        writeFileSync(record, readFileSync(record, 'utf8').replace(before, hash()));
      },
    ],
  ];

  /** Root writes read-only files; others have to make them writable first. The mode is as before afterwards. */
  function rewrite(path: string, change: (bytes: Buffer) => void): void {
    const { mode } = lstatSync(path);
    const bytes = readFileSync(path);
    change(bytes);
    chmodSync(path, 0o600);
    writeFileSync(path, bytes);
    chmodSync(path, mode & 0o7777);
  }

  // Built once and copied, links among its files and all: the same sources give the same images.
  let template: string;
  beforeAll(async () => {
    template = mkdtempSync(join(tmpdir(), 'glovebox-images-'));
    plantSources(join(template, 'sources'));
    await createImageStore({
      ...optionsFor('data', {
        sources: sourcesIn(join(template, 'sources')),
        types: smallTypes(join(template, 'sources')),
      }),
      dataDir: join(template, 'data'),
    }).build({});
  });
  afterAll(() => rmSync(template, { recursive: true, force: true }));

  it.each(harms)('finds %s, and a forced build mends it', async (_, harm) => {
    execFileSync('cp', ['-a', join(template, 'data'), home]);
    const store = createImageStore(optionsFor('data'));
    const runtime = await store.verify('runtime');
    harm(join(runtime.rootfs, '..'));
    expect(await failure(store.verify('runtime'))).toMatchObject({ code: 'IMAGE_CORRUPTED' });
    const [mended] = await store.build({ force: true });
    expect(mended?.digest).toBe(runtime.digest);
    await store.verify('runtime');
    await store.verify('builder');
    expect(staged('data')).toEqual([]);
  });

  it.each(harms.filter(([name]) => ['a changed byte', 'a removed file', 'an added link'].includes(name)))(
    'is part of asking for an image: after %s there is none, until a build mends it',
    async (_, harm) => {
      execFileSync('cp', ['-a', join(template, 'data'), home]);
      const store = createImageStore(optionsFor('data'));
      const runtime = await store.current('runtime');
      harm(join(runtime.rootfs, '..'));
      const others = createImageStore(optionsFor('data'));
      for (const each of [store, others])
        expect(await failure(each.current('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
      await others.build({});
      expect(await store.current('runtime')).toMatchObject({ digest: runtime.digest });
      await store.verify('runtime');
    },
  );

  it('is part of a build that finds a damaged file in the store: the image is made from the sources', async () => {
    const store = createImageStore(optionsFor('data'));
    const [runtime] = await store.build({});
    rewrite(join(runtime?.rootfs ?? '', 'usr/bin/node'), (bytes) => bytes.fill(1, 200, 201));
    writeFileSync(join(home, 'sources/shared.ts'), 'export const greet = String;\n');
    await store.build({});
    await store.verify('runtime');
    await store.verify('builder');
  });
});

describe('a build that fails', () => {
  it.each([
    ['does not parse', 'const = 1;'],
    ['imports what is not there', "import './nowhere.ts';"],
    ['takes in a package of somebody else', "import { value } from 'foreign';\nconsole.log(value);"],
    ['would load a package in the cell', "try {\n  require('left-pad');\n} catch {}\n"],
  ])('names the source that %s, and what was current stays', async (_, text) => {
    const store = createImageStore(optionsFor('data'));
    await store.build({});
    const path = join(home, 'sources/harness.ts');
    const sound = readFileSync(path, 'utf8');
    mkdirSync(join(home, 'node_modules/foreign'), { recursive: true });
    writeFileSync(join(home, 'node_modules/foreign/index.js'), 'export const value = 1;');
    writeFileSync(path, text);
    expect(await failure(store.build({}))).toMatchObject({
      code: 'IMAGE_BUILD_FAILED',
      message: expect.stringContaining('harness'),
    });
    expect(staged('data')).toEqual([]);
    await store.verify('runtime');
    writeFileSync(path, sound);
    expect(await store.current('runtime')).toBeDefined();
  });

  it('names a program and a source that is not there', async () => {
    for (const missing of [
      { node: { ...small, path: join(home, 'nowhere') } },
      { sources: { ...optionsFor('data').sources, probe: join(home, 'sources/gone.ts') } },
    ]) {
      expect(await failure(createImageStore(optionsFor('data', missing)).build({}))).toMatchObject({
        code: 'IMAGE_BUILD_FAILED',
      });
    }
    expect(await createImageStore(optionsFor('data')).build({})).toHaveLength(2);
  });

  it('does no harm when it is killed at any time, and the next one removes what is left', async () => {
    const options = optionsFor('data');
    let unfinished = 0;
    for (const delayMs of [60, 120, 180, 240, 300, 360]) {
      const child = startBuilder(options);
      const exited = once(child, 'exit');
      await once(child.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill('SIGKILL');
      await exited;
      if (existsSync(join(home, 'data/images/staging')) && staged('data').length > 0) unfinished++;
      const sound = await createImageStore(options)
        .verify('builder')
        .catch((error: GloveboxError) => error.code);
      expect([expect.objectContaining({ kind: 'builder' }), 'IMAGE_MISSING']).toContainEqual(sound);
      rmSync(join(home, 'data/images/index.json'), { force: true });
    }
    const store = createImageStore(options);
    await store.build({});
    await store.verify('runtime');
    await store.verify('builder');
    expect(staged('data')).toEqual([]);
    expect(unfinished).toBeGreaterThan(0);
  });

  it('and four at the same time end with the same sound images', async () => {
    const options = optionsFor('data');
    const all = await Promise.all([1, 2, 3, 4].map(() => finishBuilder(startBuilder(options))));
    expect(new Set(all.map(String)).size).toBe(1);
    const store = createImageStore(options);
    expect((await store.verify('runtime')).digest).toBe(all[0]?.[0]);
    expect((await store.verify('builder')).digest).toBe(all[0]?.[1]);
    expect(staged('data')).toEqual([]);
  });
});

describe('room', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'that is missing is DISK_FULL with nothing half-built, and a build succeeds once there is some',
    async () => {
      const dir = join(home, 'data');
      mkdirSync(dir);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', dir]);
      try {
        const store = createImageStore(optionsFor('data'));
        for (const size of ['16k', '64k', '1m', '4m', '8m']) {
          execFileSync('mount', ['-o', `remount,size=${size}`, dir]);
          expect(await failure(store.build({}))).toMatchObject({ code: 'DISK_FULL' });
          expect(staged('data')).toEqual([]);
          expect(await failure(store.current('runtime'))).toMatchObject({ code: 'IMAGE_MISSING' });
        }
        execFileSync('mount', ['-o', 'remount,size=64m', dir]);
        await store.build({});
        await store.verify('builder');
      } finally {
        execFileSync('umount', [dir]);
      }
    },
  );

  it('is given back: images out of use for a day and files of no image go, the current and the recent stay', async () => {
    const store = createImageStore(optionsFor('data'));
    const [, old] = await store.build({});
    const change = async (text: string) => {
      writeFileSync(join(home, 'sources/sdk.ts'), text);
      return (await store.build({}))[1];
    };
    const recent = await change('export const defineNode = 1;\n');
    const longAgo = new Date(Date.now() - 25 * 3600_000);
    utimesSync(join(old?.rootfs ?? '', '..'), longAgo, longAgo);
    const latest = await change('export const defineNode = 2;\n');
    expect([old, recent, latest].map((image) => existsSync(image?.rootfs ?? ''))).toEqual([false, true, true]);
    await store.verify('builder');
  });
});

function libcOfHost(): string {
  const found = execFileSync('sh', ['-c', 'ls /lib/*-linux-gnu/libc.so.6 /lib64/libc.so.6 2>/dev/null | head -1'], {
    encoding: 'utf8',
  });
  return found.trim();
}
