import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findingsOf, goodPackageJson, packageDirectory } from '../../test/kit.ts';
import { readNodePackage } from '../node-package.ts';

const sha512 = (text: string) => `sha512-${createHash('sha512').update(text).digest('base64')}`;
const dev = (more: object = {}) => ({ version: '1.0.0', integrity: sha512('x'), dev: true, ...more });

type Entries = { [path: string]: unknown };

function read(packages: Entries, devDependencies: object, more: object = {}) {
  const fields = { devDependencies, ...more };
  const dir = packageDirectory({
    'package.json': JSON.stringify({ ...goodPackageJson, ...fields }),
    'package-lock.json': JSON.stringify({ lockfileVersion: 3, packages: { '': fields, ...packages } }),
  });
  return readNodePackage(dir, { platform: { os: 'linux', cpu: 'x64', libc: 'glibc' } });
}

async function reading(packages: Entries, devDependencies: object, more: object = {}) {
  const result = await read(packages, devDependencies, more);
  if (!result.ok) throw new Error(JSON.stringify(findingsOf(result)));
  return {
    dev: result.pkg.devDependencies.map(({ path }) => path),
    needed: result.pkg.dependencies.map(({ path }) => path),
    notices: result.warnings.map(({ severity, check, message }) => `${severity} ${check} ${message.split(':')[0]}`),
  };
}

it('takes what only devDependencies lead to, beside what the bundle is made of', async () => {
  const tree = {
    'node_modules/d': dev({ dependencies: { e: '^1.0.0', shared: '1.0.0' } }),
    'node_modules/e': dev(),
    'node_modules/shared': { version: '1.0.0', integrity: sha512('x') },
  };
  expect(await reading(tree, { d: '1.0.0' }, { dependencies: { shared: '1.0.0' } })).toEqual({
    dev: ['node_modules/d', 'node_modules/e'],
    needed: ['node_modules/shared'],
    notices: [],
  });
});

it('leaves out in silence what the toolchain brings, and what only that leads to', async () => {
  const tree = {
    'node_modules/typescript': dev({ bin: { tsc: 'x' } }),
    'node_modules/@types/node': dev({ dependencies: { 'undici-types': '1.0.0' } }),
    'node_modules/undici-types': dev(),
    'node_modules/@types/d': dev({ dependencies: { '@types/node': '*' } }),
  };
  const named = { typescript: '1.0.0', '@types/node': '1.0.0', '@types/d': '1.0.0' };
  expect(await reading(tree, named)).toEqual({ dev: ['node_modules/@types/d'], needed: [], notices: [] });
});

describe('an entry that is no plain package of the registry', () => {
  const cases: [string, object][] = [
    ['is a link to a directory', { link: true, resolved: 'packages/d' }],
    ['has no sha512 integrity', { integrity: undefined }],
    ['has an install script', { hasInstallScript: true }],
    ['is machine code for one platform', { cpu: ['x64'] }],
    ['is an alias', { name: 'evil' }],
    ['resolved to "git+ssh', { resolved: 'git+ssh://git@example.com/d.git' }],
    ['needs "nowhere", which is no package of the lockfile', { dependencies: { nowhere: '1.0.0' } }],
    ['needs "e", which is no package of the lockfile', { dependencies: { e: 'github:u/e' } }],
  ];
  it.each(cases)('%s: is left out with a notice, and the rest is taken', async (why, more) => {
    const tree = { 'node_modules/d': dev(more), 'node_modules/e': dev() };
    expect(await reading(tree, { d: '1.0.0', e: '1.0.0' })).toEqual({
      dev: ['node_modules/e'],
      needed: [],
      notices: [expect.stringContaining(`notice lockfile node_modules/d ${why}`)],
    });
  });

  it('takes with it who cannot do without it, and what only they lead to', async () => {
    const tree = {
      'node_modules/top': dev({ dependencies: { middle: '1.0.0' } }),
      'node_modules/middle': dev({ dependencies: { bad: '1.0.0', only: '1.0.0' } }),
      'node_modules/bad': dev({ hasInstallScript: true }),
      'node_modules/only': dev(),
      'node_modules/free': dev({ optionalDependencies: { bad: '1.0.0' } }),
    };
    expect(await reading(tree, { top: '1.0.0', free: '1.0.0' })).toEqual({
      dev: ['node_modules/free'],
      needed: [],
      notices: [
        'notice lockfile node_modules/top needs node_modules/bad, which has an install script',
        'notice lockfile node_modules/bad has an install script',
      ],
    });
  });

  it('is left out in silence where it is for another platform', async () => {
    const tree = {
      'node_modules/d': dev({ optionalDependencies: { e: '1.0.0' } }),
      'node_modules/e': dev({ os: ['darwin'], optional: true }),
    };
    expect(await reading(tree, { d: '1.0.0' })).toEqual({ dev: ['node_modules/d'], needed: [], notices: [] });
  });
});
