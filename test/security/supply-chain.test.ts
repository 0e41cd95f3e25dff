import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReportFinding } from '@glovebox/contract';
import { type Engine, putDraft, validateDraft } from '@glovebox/engine';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type LockedEntry, lineOf, lockedProject, type Project } from '../support/locked-packages.ts';
import { errorsIn, passed, refused } from '../support/refused-packages.ts';
import { openRegistry, type Registry } from '../support/registry.ts';
import { packageTgz } from '../support/tar-writer.ts';
import { useEngine } from '../support/use-engine.ts';
import { actor } from '../support/validation.ts';

vi.setConfig({ testTimeout: 120_000 });

const engine = useEngine();
let registry: Registry;
/** The engine of the file, which fetches from that registry. */
let host: Engine;
const marks = mkdtempSync(join(tmpdir(), 'glovebox-marks-'));
const mark = join(marks, 'ran');
beforeAll(async () => {
  registry = await openRegistry();
  host = { ...engine().engine, packages: registry.source() };
});
afterAll(async () => {
  await registry.close();
  rmSync(marks, { recursive: true });
});

/** `top` is what the node imports; it needs `deep`. */
const top: LockedEntry = {
  files: { 'index.js': "export { add } from 'deep';\n", 'index.d.ts': "export { add } from 'deep';\n" },
  json: { dependencies: { deep: '^2.0.0' } },
};
const deep: LockedEntry = {
  version: '2.0.1',
  files: {
    'index.js': 'export const add = (a, b) => a + b;\n',
    'index.d.ts': 'export declare const add: (a: number, b: number) => number;\n',
  },
};
const imported = { 'src/add.ts': "export { add } from 'top';\n" };
const sound: Project = {
  packages: { 'node_modules/top': top, 'node_modules/deep': deep },
  direct: ['node_modules/top'],
  files: imported,
};
const withDeep = (more: Partial<LockedEntry>): Project => ({
  ...sound,
  packages: { 'node_modules/top': top, 'node_modules/deep': { ...deep, ...more } },
});

/** Validate what must be refused by reading alone: no request, no cell. */
async function refusedUnfetched(project: Project): Promise<{ findings: ReportFinding[]; lockText: string }> {
  const { files, lockText } = lockedProject(registry, project);
  const before = [registry.requests.length, engine().boots.length];
  const { findings } = await refused(host, files);
  expect([registry.requests.length, engine().boots.length]).toEqual(before);
  return { findings, lockText };
}

it('a package passes whose dependencies are plain packages of the registry, and it is those that run', async () => {
  const { files } = lockedProject(registry, sound);
  const { findings, artifact } = await passed(host, files);
  expect(errorsIn(findings)).toEqual([]);
  const { config } = await host.artifacts.load(artifact);
  expect(config.dependencies.map(({ name, version }) => `${name}@${version}`)).toEqual(['deep@2.0.1', 'top@1.0.0']);
});

describe('install scripts', () => {
  const script = `touch ${mark}`;

  it('of the package, of a dependency and of one behind it never run, and are told of all three', async () => {
    const { files } = lockedProject(registry, {
      ...withDeep({ json: { scripts: { postinstall: script } } }),
      packages: {
        'node_modules/top': { ...top, json: { ...top.json, scripts: { preinstall: script, prepare: script } } },
        'node_modules/deep': { ...deep, json: { scripts: { postinstall: script } } },
      },
      packageJson: { scripts: { postinstall: script, prepare: script, typecheck: script, test: script } },
    });
    const { findings } = await refused(host, files);
    const told = new Set(findings.map(({ rule, severity, file }) => `${severity} ${rule} ${file}`));
    expect([...told]).toEqual(
      expect.arrayContaining([
        'warning PACKAGE_JSON_INVALID package.json',
        'error DEPENDENCY_REFUSED node_modules/top/package.json',
        'error DEPENDENCY_REFUSED node_modules/deep/package.json',
      ]),
    );
    expect(existsSync(mark)).toBe(false);
  });

  it('that the lockfile tells of are refused before anything is fetched', async () => {
    const { findings, lockText } = await refusedUnfetched(withDeep({ entry: { hasInstallScript: true } }));
    expect(errorsIn(findings)).toEqual([
      `lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:${lineOf(lockText, '"node_modules/deep"')}`,
    ]);
  });
});

describe('where a package would come from:', () => {
  it.each([
    'https://evil.example/deep/-/deep-2.0.1.tgz',
    'http://registry.npmjs.example/deep/-/deep-2.0.1.tgz',
    'https://127.0.0.1/deep/-/deep-2.0.1.tgz',
    'https://[::1]:4873/deep/-/deep-2.0.1.tgz',
    'file:../deep-2.0.1.tgz',
    'git+ssh://git@example.com/u/deep.git#0123456789012345678901234567890123456789',
    'https://user:pass@127.0.0.1/deep/-/deep-2.0.1.tgz',
  ])('%s is refused without a request', async (resolved) => {
    const { findings, lockText } = await refusedUnfetched(withDeep({ entry: { resolved } }));
    expect(errorsIn(findings)).toEqual([
      `lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:${lineOf(lockText, '"node_modules/deep"')}`,
    ]);
  });

  it('the registry that is configured is allowed, and asked by an address of our own', async () => {
    const mirror = { ...registry.source(), registries: () => ['https://mirror.example/npm'] };
    const resolved = 'https://mirror.example/npm/deep/-/deep-2.0.1.tgz';
    await passed({ ...host, packages: mirror }, lockedProject(registry, withDeep({ entry: { resolved } })).files);
  });

  it.each(['dependencies', 'devDependencies', 'optionalDependencies'])(
    'nothing but the registry, in %s',
    async (section) => {
      const specs = {
        a: 'git+ssh://git@example.com/u/a.git',
        b: 'github:u/b',
        c: 'u/c',
        d: 'https://example.com/d.tgz',
        e: 'file:../e',
        f: 'link:../../f',
        g: 'workspace:*',
        h: 'portal:../h',
        i: 'file:%2e%2e/i',
        j: 'latest',
      };
      const packageJson = { dependencies: {}, [section]: specs };
      const { findings } = await refusedUnfetched({ packages: {}, packageJson });
      const told = findings.filter(({ rule }) => rule === 'PACKAGE_JSON_INVALID').map(({ path }) => path);
      expect(told.sort()).toEqual(Object.keys(specs).map((name) => `/${section}/${name}`));
      expect(findings.every(({ file, line }) => file !== null && line !== null)).toBe(true);
    },
  );

  it('overrides, resolutions and bundled packages, which change what a lockfile means, are refused', async () => {
    const packageJson = {
      overrides: { deep: 'github:u/deep' },
      resolutions: { deep: '2.0.2' },
      bundleDependencies: ['top'],
    };
    const { findings } = await refusedUnfetched({ ...sound, packageJson });
    expect(findings.filter(({ check }) => check === 'package').map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/overrides', '/resolutions', '/bundleDependencies']),
    );
  });
});

describe('what an entry of the lockfile must have', () => {
  it('is a strong hash, however deep it stands in the tree', async () => {
    for (const integrity of [undefined, 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=']) {
      const { findings, lockText } = await refusedUnfetched(withDeep({ entry: { integrity } }));
      expect(findings).toMatchObject([
        {
          rule: 'LOCKFILE_ENTRY_REFUSED',
          file: 'package-lock.json',
          path: expect.stringMatching(/^\/packages\/node_modules~1deep/),
        },
      ]);
      expect(findings[0]?.line).toBeGreaterThanOrEqual(lineOf(lockText, '"node_modules/deep"'));
    }
  });

  it.each([
    'node_modules/../../deep',
    '../deep',
    '/node_modules/deep',
    'node_modules/%2e%2e/deep',
    'node_modules/.hidden',
    'packages/deep',
    'node_modules\\deep',
  ])('is a place in node_modules: %s is refused', async (path) => {
    const { findings } = await refusedUnfetched({
      ...sound,
      packages: { ...sound.packages, [path]: { entry: { name: 'x' } } },
    });
    expect(errorsIn(findings)[0]).toMatch(/^lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:\d+$/);
    expect(findings[0]?.path).toBe(`/packages/${path.replaceAll('/', '~1')}`);
  });

  it('is its own name: one that hides another package is refused, with the real name', async () => {
    const { findings } = await refusedUnfetched(withDeep({ entry: { name: '1odash' } }));
    expect(findings).toMatchObject([{ rule: 'LOCKFILE_ENTRY_REFUSED', message: expect.stringContaining('1odash') }]);
    const spec = await refusedUnfetched({
      packages: {},
      packageJson: { dependencies: { lodash: 'npm:1odash@1.0.0' } },
    });
    expect(spec.findings).toContainEqual(
      expect.objectContaining({ path: '/dependencies/lodash', message: expect.stringContaining('1odash') }),
    );
  });

  it('may be a name that is one letter off a well-known one, which is told', async () => {
    const { files } = lockedProject(registry, { packages: { 'node_modules/1odash': {} } });
    const { findings } = await passed(host, files);
    expect(findings).toMatchObject([{ severity: 'notice', message: expect.stringContaining('lodash') }]);
  });
});

describe('package.json and lockfile', () => {
  it.each<[string, Partial<Project>, string]>([
    ['a lockfile for another version', { root: { dependencies: { top: '1.0.1' } } }, 'LOCKFILE_INVALID'],
    ['one that lacks a dependency', { root: { dependencies: {} } }, 'LOCKFILE_INVALID'],
    ['one of the first format', { lock: { lockfileVersion: 1 } }, 'LOCKFILE_INVALID'],
    ['one of an unknown format', { lock: { lockfileVersion: 9 } }, 'LOCKFILE_INVALID'],
    ['none', { files: { ...imported, 'package-lock.json': null } }, 'LOCKFILE_MISSING'],
    [
      'one that no tool could read in one way',
      { files: { ...imported, 'package-lock.json': '{"packages":{},"packages":{}}' } },
      'LOCKFILE_INVALID',
    ],
    ['a second one', { files: { ...imported, 'yarn.lock': '' } }, 'LOCKFILE_INVALID'],
  ])('are refused with %s', async (_, more, rule) => {
    const { findings } = await refusedUnfetched({ ...sound, ...more });
    expect(findings.filter(({ severity }) => severity === 'error').map((finding) => finding.rule)).toContain(rule);
    expect(findings.every(({ file, hint }) => file !== null && hint !== '')).toBe(true);
  });

  it('are refused where the closure lacks what a package needs, or has what nothing leads to', async () => {
    const lacking = await refusedUnfetched({ ...sound, packages: { 'node_modules/top': top } });
    expect(lacking.findings).toMatchObject([{ check: 'lockfile', message: expect.stringContaining('deep') }]);
    const stray: Project = { ...sound, packages: { ...sound.packages, 'node_modules/stray': {} } };
    expect((await refusedUnfetched(stray)).findings).toMatchObject([{ message: expect.stringContaining('stray') }]);
  });
});

describe('a tree that changes by platform', () => {
  it('is the one of the runtime image: a package for another C library is not even asked for', async () => {
    const musl: LockedEntry = { entry: { optional: true, os: ['linux'], libc: ['musl'] } };
    const { files } = lockedProject(registry, {
      ...sound,
      packages: { ...sound.packages, 'node_modules/for-musl': musl },
      packageJson: { optionalDependencies: { 'for-musl': '1.0.0' } },
      lock: {},
      files: imported,
    });
    const { artifact } = await passed(host, files);
    expect(registry.requests.filter((path) => path.includes('for-musl'))).toEqual([]);
    const { config } = await host.artifacts.load(artifact);
    expect(config.dependencies.map(({ name }) => name)).toEqual(['deep', 'top']);
  });
});

describe('what the registry serves', () => {
  it('is judged by the archive: scripts and a dependency that metadata and lockfile leave out are told', async () => {
    const json = { scripts: { install: `touch ${mark}` }, dependencies: { hidden: '1.0.0' } };
    const archive = packageTgz('deep', '2.0.1', { 'index.js': 'export const add = 1;' }, json);
    const { files } = lockedProject(registry, withDeep({ archive }));
    const { findings } = await refused(host, files);
    const told = findings.filter(({ rule }) => rule === 'DEPENDENCY_REFUSED');
    expect(new Set(told.map(({ file }) => file))).toEqual(new Set(['node_modules/deep/package.json']));
    const messages = told.map(({ message }) => message).join('\n');
    expect(messages).toMatch(/install/);
    expect(messages).toMatch(/hidden/);
    expect(existsSync(mark)).toBe(false);
  });

  it('is what the lockfile names and nothing else: other bytes, another package, or nothing', async () => {
    const { files } = lockedProject(registry, sound);
    const other = packageTgz('deep', '2.0.1', { 'index.js': 'export const add = () => 666;' });
    registry.publish('deep', '2.0.1', other);
    const changed: Engine = { ...host, packages: registry.source() };
    const { findings, states } = await refused(changed, new Map([...files, ['README.md', Buffer.from('changed')]]));
    expect(findings).toMatchObject([{ rule: 'DEPENDENCY_INTEGRITY', path: '/packages/node_modules~1deep' }]);
    expect(states).toMatchObject({ lockfile: 'failed', build: 'skipped', tests: 'skipped' });

    const named = packageTgz('evil', '2.0.1', {});
    const lying = lockedProject(registry, withDeep({ archive: named }));
    const { findings: lies } = await refused({ ...host, packages: registry.source() }, lying.files);
    expect(lies.map(({ rule, file }) => `${rule} ${file}`)).toContain(
      'DEPENDENCY_REFUSED node_modules/deep/package.json',
    );
  });

  it('for one project is nothing to another, though name, version and cache are the same', async () => {
    const cache = join(marks, 'cache');
    const theirs = await openRegistry();
    try {
      const says = (text: string): LockedEntry => ({
        ...deep,
        files: { ...deep.files, 'index.js': `export const add = (a, b) => (globalThis.said = '${text}', a + b);\n` },
      });
      const mine = lockedProject(registry, withDeep(says('mine')));
      const yours = lockedProject(theirs, withDeep(says('yours')));
      const bundleIn = async (project: string, source: Registry, files: ReadonlyMap<string, Uint8Array>) => {
        const there: Engine = { ...host, packages: source.source(cache) };
        const { draft } = (await putDraft(there, { project, actor, files })) as { draft: { id: string } };
        const { artifact, report } = await validateDraft(there, { project, id: draft.id, actor });
        if (artifact === null) return report.findings.map(({ rule }) => rule);
        return Buffer.from((await there.artifacts.load(artifact)).bundle).toString();
      };
      expect(await bundleIn('one', registry, mine.files)).toContain('mine');
      const bundle = await bundleIn('two', theirs, yours.files);
      expect(bundle).toContain('yours');
      expect(bundle).not.toContain('mine');
      // What one registry has proved is not believed of another.
      const mixed = new Map([...mine.files, ['README.md', Buffer.from('mixed')] as const]);
      expect(await bundleIn('three', theirs, mixed)).toEqual(['DEPENDENCY_INTEGRITY']);
    } finally {
      await theirs.close();
    }
  });
});

describe('settings of package managers', () => {
  it('in the package and in a dependency lead nowhere, and are told', async () => {
    const evil = await openRegistry();
    try {
      const npmrc = `registry=${evil.url}\nignore-scripts=false\n`;
      const { files } = lockedProject(registry, {
        ...withDeep({ files: { ...deep.files, '.npmrc': npmrc, '.pnpmfile.cjs': '' } }),
        packageJson: { publishConfig: { registry: evil.url } },
        files: {
          ...imported,
          '.npmrc': npmrc,
          '.yarnrc': `registry "${evil.url}"`,
          '.yarnrc.yml': `npmRegistryServer: ${evil.url}`,
          '.pnpmfile.cjs': `require('fs').writeFileSync('${mark}', '')`,
        },
      });
      const { findings } = await passed({ ...host, packages: registry.source() }, files);
      expect(errorsIn(findings)).toEqual([]);
      const about = findings.map(({ file, path, message }) => `${file}${path ?? ''} ${message}`).join('\n');
      for (const part of ['.npmrc', '.yarnrc', '.yarnrc.yml', '.pnpmfile.cjs', '/publishConfig', 'node_modules/deep'])
        expect(about).toContain(part);
      expect(evil.requests).toEqual([]);
      expect(existsSync(mark)).toBe(false);
    } finally {
      await evil.close();
    }
  });
});
