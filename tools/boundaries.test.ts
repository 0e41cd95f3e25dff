import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkBoundaries } from './boundaries.ts';

const member = (name: string, dependencies: string[], exports: string[] = ['.']) =>
  JSON.stringify({
    name: `@glovebox/${name}`,
    exports: Object.fromEntries(exports.map((key) => [key, './src/index.ts'])),
    dependencies: Object.fromEntries(dependencies.map((to) => [`@glovebox/${to}`, '0.1.0'])),
  });

/** A small repository in which every arrow and every exception is used and all hold. */
const clean: { [path: string]: string } = {
  'packages/contract/package.json': member('contract', [], ['.', './errors', './build-limits']),
  'packages/contract/src/index.ts': "export * from './ids.ts';\n",
  'packages/contract/src/ids.ts': 'export const id = 1;\n',
  'packages/channel/package.json': member('channel', []),
  'packages/channel/src/index.ts': "import type { Socket } from 'node:net';\nexport type Wire = Socket;\n",
  'packages/channel/src/index.test.ts':
    "import { connect } from 'node:net';\nimport { spawn } from 'node:child_process';\nimport '../../../test/support/tar.ts';\nconnect(1); spawn('true'); fetch('x'); process.env.X;\n",
  'packages/sdk/package.json': member('sdk', []),
  'packages/sdk/src/index.ts': 'export const defineNode = 1;\n',
  'packages/cell/package.json': member('cell', ['contract']),
  'packages/cell/src/index.ts':
    "import { id } from '@glovebox/contract';\nexport const cell = id;\nexport const size = ({ process }: { process: { env: string[] } }) => process.env.length;\n",
  'packages/guest/package.json': member('guest', ['channel', 'contract', 'sdk']),
  'packages/guest/src/index.ts':
    "import type { Wire } from '@glovebox/channel';\nimport { defineNode } from '@glovebox/sdk';\nimport type { id } from '@glovebox/contract';\nimport { most } from '@glovebox/contract/build-limits';\nprocess.getBuiltinModule('node:http');\nexport const load = (path: string) => import(path);\n",
  'packages/engine/package.json': member('engine', ['cell', 'channel', 'contract']),
  'packages/engine/src/index.ts':
    "export type { Wire } from '@glovebox/channel';\nexport { cell } from '@glovebox/cell';\nexport * from '@glovebox/contract/errors';\n",
  'adapters/cell-oci/package.json': member('cell-oci', ['cell', 'contract']),
  'adapters/cell-oci/src/index.ts':
    "import { spawn } from 'node:child_process';\nimport { cell } from '@glovebox/cell';\nimport { id } from '@glovebox/contract';\nspawn('true', [String(cell + id)]);\n",
  'adapters/image-rootfs/package.json': member('image-rootfs', ['guest']),
  'adapters/image-rootfs/src/index.ts':
    "const installed = (name: string) => import.meta.resolve(name);\nexport const entry = installed('@glovebox/guest');\n",
  'adapters/store-sqlite/package.json': member('store-sqlite', []),
  'adapters/store-sqlite/src/index.ts': "export { DatabaseSync } from 'node:sqlite';\n",
  'apps/server/package.json': member('server', ['engine']),
  'apps/server/src/index.ts': "export { cell as app } from '@glovebox/engine';\n",
  'apps/cli/package.json': member('cli', ['cell-oci', 'engine', 'server']),
  'apps/cli/src/index.ts':
    "export const run = async () => [await import('@glovebox/cell-oci'), await import('@glovebox/engine'), await import('@glovebox/server')];\n",
  'apps/cli/src/config.ts': 'export const home = process.env.HOME;\n',
  'packages/channel/test/kit.ts': 'export const kit = 1;\n',
  'test/support/tar.ts': "export { kit as tar } from '../../packages/channel/test/kit.ts';\n",
  'tools/demo.ts':
    "import { spawn } from 'node:child_process';\nimport { cell } from '@glovebox/cell';\nimport { home } from '../apps/cli/src/config.ts';\nspawn('true', [String(cell), home, process.env.HOME ?? '']);\n",
};

const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true });
});

function violationsOf(planted: { [path: string]: string }) {
  const root = mkdtempSync(join(tmpdir(), 'boundaries-'));
  made.push(root);
  for (const [path, text] of Object.entries({ ...clean, ...planted })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return checkBoundaries(root).map(({ file, line, rule, reason }) => {
    expect(reason).not.toBe('');
    return `${file}:${line} ${rule}`;
  });
}

/** Adds lines behind a clean file and expects the one violation on the first of them. */
const plant = (path: string, text: string) => {
  const before = clean[path] ?? '';
  return { found: violationsOf({ [path]: before + text }), line: before.split('\n').length };
};

it('finds nothing in a repository in which every arrow and every exception is used', () => {
  expect(violationsOf({})).toEqual([]);
});

it('takes no function of a file for the global one, though it has its name', () => {
  const own = 'const fetch = async () => 1;\nexport const all = [fetch].map((one) => limited(fetch) ?? one);\n';
  const given = 'export const ask = ({ fetch }: { fetch: () => void }) => client({ fetch });\n';
  expect(violationsOf({ 'packages/cell/src/own.ts': own, 'packages/cell/src/given.ts': given })).toEqual([]);
});

it('lets the CLI have the server inside, and no app another one besides', () => {
  const found = violationsOf({
    'apps/server/package.json': member('server', ['cli', 'engine']),
    'apps/server/src/other.ts': "import '@glovebox/cli';\n",
  });
  expect(found).toEqual(['apps/server/src/other.ts:1 upwards']);
});

describe('finds a planted', () => {
  it.each([
    ['arrow from the contract upwards', 'packages/contract/src/ids.ts', "import '@glovebox/cell';\n", 'undeclared'],
    [
      'arrow between stage packages',
      'packages/cell/src/index.ts',
      "export * from '@glovebox/channel';\n",
      'undeclared',
    ],
    [
      'value where only types and constants may go',
      'packages/guest/src/index.ts',
      "import { id as value } from '@glovebox/contract';\n",
      'package',
    ],
    [
      'dynamic import against the arrows',
      'packages/engine/src/index.ts',
      "export const x = () => import('@glovebox/cell-oci');\n",
      'undeclared',
    ],
    [
      'import type query against the arrows',
      'packages/channel/src/index.ts',
      "export type X = import('@glovebox/contract').Y;\n",
      'undeclared',
    ],
    [
      'deep import by a name that is not exported',
      'packages/engine/src/index.ts',
      "export * from '@glovebox/cell/src/plan.ts';\n",
      'depth',
    ],
    ['deep import by path', 'packages/engine/src/index.ts', "export * from '../../cell/src/index.ts';\n", 'depth'],
    ['deep import by path from tools', 'tools/demo.ts', "export * from '../packages/cell/src/index.ts';\n", 'depth'],
    ['import out of the package', 'packages/cell/src/index.ts', "export * from '../../../tools/demo.ts';\n", 'upwards'],
    ['import of the tests', 'packages/cell/src/index.ts', "export * from '../../../test/support/tar.ts';\n", 'upwards'],
    [
      'import of the tests of a package',
      'packages/engine/src/index.ts',
      "export * from '../../channel/test/kit.ts';\n",
      'depth',
    ],
    ['import of a package that is not there', 'tools/demo.ts', "import '@glovebox/nowhere';\n", 'upwards'],
    ['socket', 'packages/engine/src/index.ts', "import { connect } from 'node:net';\n", 'builtin'],
    [
      'socket without the node: prefix',
      'packages/engine/src/index.ts',
      "import { request } from 'https';\n",
      'builtin',
    ],
    ['socket by require', 'packages/engine/src/index.ts', "const tls = require('tls');\n", 'builtin'],
    [
      'socket by getBuiltinModule',
      'adapters/cell-oci/src/index.ts',
      "const h2 = process.getBuiltinModule('http2');\n",
      'builtin',
    ],
    [
      'socket by globalThis.process',
      'adapters/cell-oci/src/index.ts',
      "const h2 = globalThis.process.getBuiltinModule('http2');\n",
      'builtin',
    ],
    ['re-export of a socket', 'apps/cli/src/index.ts', "export { createSocket } from 'node:dgram';\n", 'builtin'],
    ['undici', 'apps/cli/src/index.ts', "import { request } from 'undici';\n", 'builtin'],
    ['part of undici', 'apps/cli/src/index.ts', "import { x } from 'undici/lib/api/index.js';\n", 'builtin'],
    ['part of dns', 'packages/engine/src/index.ts', "import { lookup } from 'dns/promises';\n", 'builtin'],
    ['way into http', 'packages/engine/src/index.ts', "import { ClientRequest } from '_http_client';\n", 'builtin'],
    ['HTTP client of a library', 'packages/engine/src/index.ts', "import f from 'npm-registry-fetch';\n", 'builtin'],
    ['child process', 'packages/engine/src/index.ts', "import { spawn } from 'node:child_process';\n", 'builtin'],
    ['database', 'packages/engine/src/index.ts', "import { DatabaseSync } from 'node:sqlite';\n", 'builtin'],
    ['evaluation of code', 'packages/engine/src/index.ts', "import { runInNewContext } from 'node:vm';\n", 'builtin'],
    ['global fetch', 'packages/engine/src/index.ts', "await fetch('https://example.com');\n", 'network-global'],
    ['fetch by another name', 'packages/engine/src/index.ts', 'const send = fetch;\n', 'network-global'],
    ['fetch that is passed on', 'packages/engine/src/index.ts', 'createClient({ fetch });\n', 'network-global'],
    ['fetch as an argument', 'packages/engine/src/index.ts', 'createClient(fetch);\n', 'network-global'],
    ['fetch in default', 'packages/engine/src/index.ts', 'const send = given ?? fetch;\n', 'network-global'],
    ['fetch of globalThis', 'packages/engine/src/index.ts', 'const { fetch } = globalThis;\n', 'network-global'],
    ['globalThis.fetch', 'packages/engine/src/index.ts', 'const f = globalThis.fetch;\n', 'network-global'],
    ['WebSocket', 'packages/engine/src/index.ts', "new WebSocket('wss://example.com');\n", 'network-global'],
    ['process.env', 'packages/engine/src/index.ts', 'const home = process.env.HOME;\n', 'environment'],
    ["process['env']", 'packages/engine/src/index.ts', "const home = process['env'];\n", 'environment'],
    ['destructured env', 'packages/engine/src/index.ts', 'const { env } = process;\n', 'environment'],
    ['imported env', 'packages/engine/src/index.ts', "import { env } from 'node:process';\n", 'environment'],
    [
      'process.env in the CLI outside its config',
      'apps/cli/src/index.ts',
      'const home = process.env.HOME;\n',
      'environment',
    ],
    [
      'computed import',
      'packages/engine/src/index.ts',
      'export const load = (name: string) => import(name);\n',
      'computed',
    ],
    ['syntax error', 'packages/engine/src/index.ts', 'export const = ;\n', 'syntax'],
  ])('%s', (_, path, text, rule) => {
    const { found, line } = plant(path, text);
    expect(found).toContain(`${path}:${rule === 'syntax' ? 1 : line} ${rule}`);
  });

  it.each([
    ['arrow from the contract upwards', 'packages/contract', ['cell'], 'package'],
    ['arrow between stage packages', 'packages/cell', ['contract', 'channel'], 'package'],
    ['arrow from a package to an adapter', 'packages/engine', ['cell', 'channel', 'contract', 'cell-oci'], 'upwards'],
    ['arrow from a package to an app', 'packages/cell', ['contract', 'cli'], 'upwards'],
    ['arrow between adapters', 'adapters/cell-oci', ['cell', 'contract', 'store-sqlite'], 'adapter'],
    ['arrow from an adapter to an app', 'adapters/cell-oci', ['cell', 'contract', 'cli'], 'upwards'],
    ['arrow from the host into what runs in cells', 'adapters/cell-oci', ['cell', 'contract', 'guest'], 'insideCells'],
  ])('%s even where package.json declares it', (_, dir, dependencies, rule) => {
    const path = `${dir}/src/index.ts`;
    const text = clean[path] ?? '';
    const { exports } = JSON.parse(clean[`${dir}/package.json`] ?? '');
    const found = violationsOf({
      [`${dir}/package.json`]: member(dir.split('/')[1] ?? '', dependencies, Object.keys(exports)),
      [path]: `${text}import type {} from '@glovebox/${dependencies.at(-1)}';\n`,
    });
    expect(found).toEqual([`${path}:${text.split('\n').length} ${rule}`]);
  });

  it('package that has stated no arrows', () => {
    const found = violationsOf({
      'packages/flow/package.json': member('flow', ['contract']),
      'packages/flow/src/index.ts': "import '@glovebox/contract';\n",
    });
    expect(found).toEqual(['packages/flow/src/index.ts:1 package']);
  });

  it('dependency that nothing imports', () => {
    expect(violationsOf({ 'packages/cell/package.json': member('cell', ['contract', 'channel']) })).toEqual([
      'packages/cell/package.json:1 unused',
    ]);
  });
});
