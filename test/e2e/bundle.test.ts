import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Cell, CellDriver, CellEnd } from '@glovebox/cell';
import { createOciDriver } from '@glovebox/cell-oci';
import { type Digest, newInstanceId } from '@glovebox/contract';
import { type BundleOptions, bundleNode, type NodePackage, restoreDependencies } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { createPackageSource } from '@glovebox/registry-npm';
import { readNodePackage } from '@glovebox/validate';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { watchMoments } from '../support/cell-moments.ts';
import { type TarItem, tar, tgz } from '../support/tar-writer.ts';

const repository = new URL('../../', import.meta.url).pathname;
const dataDir = mkdtempSync(join(tmpdir(), 'bundle-e2e-'));
const runDirectory = join(dataDir, 'run');
const caFile = process.env.GLOVEBOX_EXTRA_CA;
const packages = createPackageSource({
  cacheDir: join(dataDir, 'packages'),
  ...(caFile === undefined ? {} : { caFile }),
});
/** How each cell of this file ended, in order. */
const ends: CellEnd[] = [];
let driver: CellDriver;
/** What a test makes of the cells that are booted. */
let intervene: (cell: Cell) => Cell;
beforeEach(() => {
  intervene = (cell) => cell;
});
let image: Digest;

beforeAll(async () => {
  const images = createImageStore({ dataDir });
  await images.build({});
  image = (await images.current('builder')).digest as Digest;
  const oci = createOciDriver({
    instance: newInstanceId(),
    runDirectory,
    rootfsOf: (digest) => join(dataDir, 'images', digest.slice('sha256:'.length), 'rootfs'),
  });
  driver = {
    ...oci,
    boot: async (plan, id): Promise<Cell> => {
      const cell = await oci.boot(plan, id);
      void cell.ended.then((end) => ends.push(end));
      return intervene(cell);
    },
  };
});

afterAll(() => {
  try {
    expect(readdirSync(join(runDirectory, 'cells'))).toEqual([]);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

async function example(name: string): Promise<NodePackage> {
  const read = await readNodePackage(join(repository, 'examples', name));
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  return read.pkg;
}

/** A package of one file, with the archives that are its dependencies. */
function madeUp(source: string, archives: { [name: string]: Buffer } = {}) {
  const locked = Object.keys(archives).map((name) => ({
    path: `node_modules/${name}`,
    name,
    version: '1.0.0',
    integrity: '',
  }));
  return {
    pkg: {
      files: new Map([
        ['package.json', Buffer.from('{"name":"made-up","type":"module"}')],
        ['src/index.ts', Buffer.from(source)],
      ]),
      dependencies: locked,
    },
    tarballs: locked.map((entry) => ({ ...entry, bytes: archives[entry.name] as Buffer })),
  };
}

const bundle = (request: Parameters<typeof bundleNode>[0], options: Partial<BundleOptions> = {}) =>
  bundleNode(request, { driver, cellClass: 'ns', image, ...options });

describe('a node with packages from npm', () => {
  it.each([
    ['csv-profile', 'csv-parse'],
    ['markdown-to-html', 'markdown-it'],
  ])('%s is bundled with %s in two cells to the same bytes, which load', async (name, dependency) => {
    const pkg = await example(name);
    const tarballs = await restoreDependencies(pkg.dependencies, packages);
    const first = await bundle({ pkg, tarballs });
    const second = await bundle({ pkg, tarballs });
    if (!first.ok || !second.ok) throw new Error(JSON.stringify([first, second], null, 1));
    expect(second.bundleDigest).toBe(first.bundleDigest);
    expect(Buffer.from(second.sourceMap).equals(Buffer.from(first.sourceMap))).toBe(true);
    expect(second.metafile).toEqual(first.metafile);
    expect(Object.keys((first.metafile as { inputs: object }).inputs).join()).toContain(`node_modules/${dependency}/`);
    expect(Buffer.from(first.bundle).includes('/tmp/src-tree')).toBe(false);
    expect(first).toMatchObject({ warnings: [], end: { cause: 'done', exit: { signal: 'SIGKILL' } } });
    expect(first.cellFacts.properties).toEqual(
      expect.arrayContaining(['seccomp', 'sockets-unix-only', 'root-read-only', 'scratch-limited']),
    );
    const file = join(dataDir, `${name}.mjs`);
    writeFileSync(file, first.bundle);
    expect((await import(/* @vite-ignore */ pathToFileURL(file).href)) as object).toHaveProperty('default');
  });
});

describe('a builder cell', () => {
  const fine = "import dep from 'dep'; export default dep;";
  const files = (items: TarItem[], json: object = {}) =>
    tgz([
      { name: 'package/package.json', content: JSON.stringify({ name: 'dep', version: '1.0.0', ...json }) },
      ...items,
    ]);

  it('takes a plain archive, and refuses what is none, by name', async () => {
    expect(
      await bundle(madeUp(fine, { dep: files([{ name: 'package/index.js', content: 'module.exports = 1' }]) })),
    ).toMatchObject({ ok: true });
    const hostile: [string, Buffer, string][] = [
      ['up', files([{ name: 'package/../../../glovebox/builder.cjs', content: 'x' }]), 'ARCHIVE_REFUSED'],
      [
        'link',
        files([
          { name: 'package/a', type: '2', linkname: '/glovebox' },
          { name: 'package/a/builder.cjs', content: 'x' },
        ]),
        'ARCHIVE_REFUSED',
      ],
      ['device', files([{ name: 'package/a', type: '3' }]), 'ARCHIVE_REFUSED'],
      ['bomb', gzipSync(tar([{ name: 'package/z', content: Buffer.alloc(100 << 20) }])), 'ARCHIVE_REFUSED'],
      ['many', tgz(Array.from({ length: 20_001 }, (_, i) => ({ name: `package/${i}` }))), 'ARCHIVE_REFUSED'],
      ['garbage', Buffer.from('not an archive'), 'ARCHIVE_REFUSED'],
      ['scripts', files([], { name: 'scripts', scripts: { postinstall: 'x' } }), 'DEPENDENCY_REFUSED'],
      ['native', files([{ name: 'package/data.txt', content: '\x7fELF' }], { name: 'native' }), 'DEPENDENCY_REFUSED'],
      ['confused', files([]), 'DEPENDENCY_REFUSED'],
    ];
    const result = await bundle(madeUp(fine, Object.fromEntries(hostile.map(([name, bytes]) => [name, bytes]))));
    if (result.ok) throw new Error('it was taken');
    expect(result.findings.map(({ rule, place }) => [rule, place.file?.split('/')[1]])).toEqual(
      hostile.map(([name, , rule]) => [rule, name]),
    );
    expect(ends.at(-1)?.peakMemoryBytes).toBeLessThan(256 << 20);
  });

  it('has nothing of the host to import', async () => {
    for (const path of [
      '/etc/shadow',
      '/root/.npmrc',
      '/work',
      '/proc/1/root/etc/shadow',
      '/proc/self/cwd/etc/shadow',
    ]) {
      expect(await bundle(madeUp(`import '${path}'; export default 1;`)), path).toMatchObject({
        ok: false,
        findings: [{ rule: 'BUILD_FAILED' }],
      });
    }
    // What is in the image is refused as well: it belongs to no package.
    expect(await bundle(madeUp("import '/glovebox/builder.cjs'; export default 1;"))).toMatchObject({
      ok: false,
      findings: [{ rule: 'BUILD_FAILED', place: { file: expect.stringContaining('builder.cjs') } }],
    });
  });

  it('ends as out of memory when the source makes the bundler read without end', async () => {
    expect(await bundle(madeUp("import x from '/dev/zero' with { type: 'text' }; export default x;"))).toMatchObject({
      ok: false,
      findings: [{ rule: 'BUILD_OUT_OF_MEMORY' }],
    });
    expect(ends.at(-1)).toMatchObject({ cause: 'oom' });
  });

  it('ends at its deadline, which the driver keeps', async () => {
    intervene = (cell) => ({ ...cell, dispatch: ({ cpu }) => cell.dispatch({ cpu, deadlineMs: 10 }) });
    // Before it works that is no fault of the package.
    await expect(bundle(madeUp('export default 1'))).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });
    expect(ends.at(-1)).toMatchObject({ cause: 'deadline' });
  });

  it('is gone when a cancelled build returns, whenever it is cancelled', async () => {
    for (const at of ['boot', 'unpack', 'bundle', 'teardown'] as const) {
      const controller = new AbortController();
      const before = ends.length;
      intervene = (cell) => watchMoments(cell, (moment) => moment === at && controller.abort());
      const result = bundle(madeUp('export default 1'), { signal: controller.signal });
      await expect(result, at).rejects.toMatchObject({ code: 'INTERRUPTED' });
      expect(ends.length, at).toBe(before + 1);
      expect(readdirSync(join(runDirectory, 'cells')), at).toEqual([]);
    }
  });
});
