import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Engine } from '@glovebox/engine';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { lockedProject } from '../support/locked-packages.ts';
import { passed, refused } from '../support/refused-packages.ts';
import { openRegistry, type Registry } from '../support/registry.ts';
import { gnuLongName, pax, type TarItem, tar, tgz } from '../support/tar-writer.ts';
import { cellUmask } from '../support/test-driver.ts';
import { useEngine } from '../support/use-engine.ts';

vi.setConfig({ testTimeout: 120_000 });

const engine = useEngine();
let registry: Registry;
/** The engine of the file, which fetches from that registry. */
let host: Engine;
const outside = mkdtempSync(join(tmpdir(), 'glovebox-outside-'));
beforeAll(async () => {
  registry = await openRegistry();
  host = { ...engine().engine, packages: registry.source() };
});
afterAll(async () => {
  await registry.close();
  rmSync(outside, { recursive: true });
});

const json = (name: string): TarItem => ({
  name: 'package/package.json',
  content: JSON.stringify({ name, version: '1.0.0', type: 'module' }),
});
const file = (path: string, content: string | Buffer = 'x'): TarItem => ({ name: `package/${path}`, content });

/** Validate a package with one dependency for each archive. @returns what is told of each, by its number. */
async function refusedEach(archives: Buffer[]): Promise<string[][]> {
  const packages = Object.fromEntries(archives.map((archive, i) => [`node_modules/dep-${i}`, { archive }]));
  const { files } = lockedProject(registry, { packages });
  const { findings, states } = await refused(host, files);
  expect([states.lockfile, states.build]).toEqual(['passed', 'failed']);
  const about = (i: number): string[] =>
    findings
      .filter(({ file: at, message }) => new RegExp(`\\bnode_modules/dep-${i}(?!\\d)`).test(`${at} ${message}`))
      .map(({ rule, message }) => `${rule} ${message}`);
  return archives.map((_, i) => [...new Set(about(i))]);
}

/** An archive as dependency number `i`: sound but for the items. */
const archiveOf = (i: number, items: TarItem[]): Buffer => tgz([json(`dep-${i}`), ...items]);

describe('an archive of a dependency', () => {
  it('that is sound is unpacked with plain modes, whatever its own say, and gives the same artifact each time', async () => {
    const archive = tgz([
      { name: 'package/', type: '5', mode: 0o7777 },
      json('dep-0'),
      { ...file('run.js', 'export const one = 1;\n'), mode: 0o6777 },
      pax([['LIBARCHIVE.xattr.user.note', 'eA']]),
      { ...file('index.js', "export { one } from './run.js';\n"), mode: 0o7444 },
      { ...file('index.d.ts', 'export declare const one: number;\n'), mode: 0o600 },
    ]);
    const modes = [0o755, 0o755, 0o644].map((mode) => (mode & ~cellUmask()).toString(8));
    const { files } = lockedProject(registry, {
      packages: { 'node_modules/dep-0': { archive } },
      files: {
        'src/add.ts':
          "import { one } from 'dep-0';\nexport const add = (a: number, b: number): number => (a + b) * one;\n",
        'test/modes.test.ts': [
          "import assert from 'node:assert/strict';",
          "import { lstatSync } from 'node:fs';",
          "import { test } from 'node:test';",
          "const dep = new URL('../node_modules/dep-0/', import.meta.url);",
          'const mode = (path: string) => (lstatSync(new URL(path, dep)).mode & 0o7777).toString(8);',
          `test('modes', () => assert.deepEqual(['', 'run.js', 'index.js'].map(mode), ${JSON.stringify(modes)}));`,
        ].join('\n'),
      },
    });
    const first = await passed(host, files);
    // Nothing is known to the other engine: everything is fetched, unpacked and built again.
    const none = { get: async () => undefined, put: async () => undefined };
    const fresh: Engine = { ...host, packages: registry.source(), bundles: none, checks: none };
    expect((await passed(fresh, files)).artifact).toBe(first.artifact);
  });

  it('that leads out of its place is refused whole, in twelve spellings, and nothing is written', async () => {
    const evil = join(outside, 'evil');
    const spellings = [
      evil,
      `//${evil}`,
      `////${evil.slice(1)}`,
      'package/../../../evil',
      '../evil',
      './../evil',
      'package/a/../../../evil',
      'package/./../../evil',
      'package//evil',
      'package\\..\\..\\evil',
      'package/..',
      '..',
    ];
    const before = [readdirSync(outside), readdirSync(dirname(engine().dataDir)), readdirSync('/')];
    const told = await refusedEach([
      ...spellings.map((name, i) => archiveOf(i, [{ name, content: 'x' }])),
      archiveOf(12, [pax([['path', '../../evil']]), file('a')]),
      archiveOf(13, [gnuLongName(`package/${'../'.repeat(40)}evil`), file('a')]),
    ]);
    for (const [i, findings] of told.entries())
      expect(findings, spellings[i] ?? `${i}`).toEqual([expect.stringMatching(/^ARCHIVE_REFUSED /)]);
    expect([readdirSync(outside), readdirSync(dirname(engine().dataDir)), readdirSync('/')]).toEqual(before);
    expect(existsSync(evil)).toBe(false);
  });

  it('with anything but files and directories is refused whole', async () => {
    const special: TarItem[] = [
      { ...file('a', ''), type: '1', linkname: '/etc/passwd' },
      { ...file('a', ''), type: '2', linkname: '/etc/passwd' },
      { ...file('a', ''), type: '3' },
      { ...file('a', ''), type: '4' },
      { ...file('a', ''), type: '6' },
      { ...file('a', ''), type: '7' },
      { ...file('a', ''), type: 'S' },
      { ...file('a', ''), type: 'M' },
    ];
    const told = await refusedEach([
      ...special.map((item, i) => archiveOf(i, [item])),
      archiveOf(8, [{ ...file('a', ''), type: '2', linkname: '/tmp' }, file('a/b')]),
      archiveOf(9, [file('README'), file('readme')]),
      archiveOf(10, [file('a', '1'), file('a', '2')]),
      archiveOf(11, [file('native.txt', Buffer.from('\x7fELF\x02\x01'))]),
      archiveOf(12, [pax([['SCHILY.xattr.security.capability', Buffer.from([1, 0, 0, 2])]]), file('a')]),
    ]);
    for (const [i, findings] of told.entries())
      expect(findings, `${i}`).toEqual([expect.stringMatching(/^(ARCHIVE|DEPENDENCY)_REFUSED /)]);
  });
});

describe('a bomb', () => {
  const zeros = (name: string): Buffer => tgz([json(name), file('zeros', Buffer.alloc(128 << 20))]);
  const many = (name: string): Buffer =>
    tgz([json(name), ...Array.from({ length: 20_001 }, (_, i) => file(`f/${i}`, ''))]);

  it.each<[string, () => Buffer, RegExp]>([
    ['of zeros is told by how far it inflates', () => zeros('dep-0'), /inflates to more than \d+ bytes/],
    ['of tiny files is told by their number', () => many('dep-0'), /more than 20000 entries/],
    ['of directories is told by their depth', () => archiveOf(0, [file(`${'d/'.repeat(40)}a`)]), /deep|directories/],
    [
      'of holes is told as what no package has',
      () =>
        archiveOf(0, [
          pax([
            ['GNU.sparse.realsize', '1000000000000'],
            ['GNU.sparse.map', '0,1'],
          ]),
          file('a'),
        ]),
      /sparse/,
    ],
    ['in another archive stays what it is', () => gzipSync(zeros('dep-0')), /ARCHIVE_REFUSED/],
    [
      'that says it is small is told by how far it goes',
      () => archiveOf(0, [{ ...file('a', ''), size: 0o77777777777 }]),
      /ARCHIVE_REFUSED/,
    ],
  ])('%s', async (_, archive, told) => {
    const bytes = archive();
    const before = process.resourceUsage().maxRSS;
    const started = performance.now();
    const [findings = []] = await refusedEach([bytes]);
    expect(findings.join('\n')).toMatch(told);
    expect(performance.now() - started).toBeLessThan(20_000);
    // KiB. What is unpacked is unpacked in a cell.
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(256 * 1024);
  });

  it('of many packages, each within its limits, is told by their sum', async () => {
    // Bytes that do not compress keep it within the ratio.
    const items = [file('zeros', Buffer.alloc(60 << 20)), file('ballast', randomBytes(400_000))];
    const archives = Array.from({ length: 6 }, (_, i) => gzipSync(tar([json(`dep-${i}`), ...items]), { level: 1 }));
    const told = await refusedEach(archives);
    expect(told.flat().join('\n')).toMatch(/with it, the packages are larger than \d+ bytes/);
  });
});
