import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CliRun } from '../support/cli.ts';
import { manyWays } from '../support/many-ways.ts';
import { listTree, makeCliHome, useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
const sha512 = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
let before: string[];
beforeAll(async () => {
  await cli().node('good', { id: 'good', body: 'return ctx.input;' });
  await cli().node('many-ways', manyWays);
  // Everything that a run makes is there, so that whatever is there afterwards is of a refused one.
  for (const args of [['good'], ['many-ways', '--fixture', 'good']])
    expect((await cli().run(['node', 'run', ...args, '--trial'])).code).toBe(0);
  before = listTree(cli().dataDir);
});
afterAll(async () => {
  expect(listTree(cli().dataDir)).toEqual(before);
  const { json } = await cli().run(['run', 'list', '--json']);
  // Nothing of it was recorded either: a refused run never began.
  expect((json().runs as object[]).length).toBe(2);
});

interface Refusal {
  /** Default 2. */
  exit?: number;
  code: string;
  /** Of the one finding, or of one among several. */
  rule?: string;
  place?: Record<string, unknown>;
  says?: RegExp;
}

function expectRefusal({ code, stderr, json }: CliRun, refusal: Refusal): void {
  const { error, findings } = json() as ReturnType<CliRun['json']> & {
    findings?: { rule: string; message: string; hint: string; place: Record<string, unknown> }[];
  };
  expect({ exit: code, code: error?.code, stderr }).toEqual({
    exit: refusal.exit ?? 2,
    code: refusal.code,
    stderr: '',
  });
  expect(error?.hint).toMatch(/\S/);
  const told = [
    { rule: error?.code, message: error?.message, hint: error?.hint, place: error?.place },
    ...(findings ?? []),
  ].filter(({ rule }) => rule === (refusal.rule ?? refusal.code));
  expect(told.length).toBeGreaterThan(0);
  expect(told.every(({ hint, message }) => /\S/.test(hint ?? '') && /\S/.test(message ?? ''))).toBe(true);
  if (refusal.place) expect(told.map(({ place }) => place)).toContainEqual(expect.objectContaining(refusal.place));
  if (refusal.says) expect(told.map(({ message }) => message).join('\n')).toMatch(refusal.says);
}

let packages = 0;
type Change = (dir: string, json: (name: string, change: (value: Record<string, unknown>) => void) => void) => void;

/** A good package, changed. */
async function changed(change: Change): Promise<string> {
  const name = `package-${packages++}`;
  const dir = await cli().node(name, {
    id: 'good',
    body: 'return ctx.input;',
    manifest: {
      input: { type: 'object', properties: { n: { type: 'integer', maximum: 9 } }, additionalProperties: false },
    },
  });
  change(dir, (file, edit) => {
    const value = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Record<string, unknown>;
    edit(value);
    writeFileSync(join(dir, file), JSON.stringify(value, undefined, 2));
  });
  return name;
}

const manifest =
  (edit: (value: Record<string, unknown>) => void): Change =>
  (_, json) =>
    json('node.json', edit);
const packageJson =
  (edit: (value: Record<string, unknown>) => void): Change =>
  (_, json) =>
    json('package.json', edit);
const write =
  (name: string, content: string | Uint8Array): Change =>
  (dir) =>
    writeFileSync(join(dir, name), content);
const refusedPackage = (rule: string, place?: Record<string, unknown>, says?: RegExp): Refusal => ({
  code: 'PACKAGE_INVALID',
  rule,
  ...(place ? { place } : {}),
  ...(says ? { says } : {}),
});

const packageCases: [string, Change, Refusal][] = [
  [
    'no node.json',
    (dir) => rmSync(join(dir, 'node.json')),
    refusedPackage('PACKAGE_FILE_MISSING', { file: 'node.json' }),
  ],
  [
    'no package.json',
    (dir) => rmSync(join(dir, 'package.json')),
    refusedPackage('PACKAGE_FILE_MISSING', { file: 'package.json' }),
  ],
  [
    'no src/index.ts',
    (dir) => rmSync(join(dir, 'src/index.ts')),
    refusedPackage('PACKAGE_FILE_MISSING', { file: 'src/index.ts' }),
  ],
  [
    'nothing at all',
    (dir) => {
      rmSync(dir, { recursive: true });
      mkdirSync(dir);
    },
    refusedPackage('PACKAGE_FILE_MISSING'),
  ],
  ['no directory', (dir) => rmSync(dir, { recursive: true }), { code: 'PACKAGE_INVALID' }],
  [
    'a file in place of the directory',
    (dir) => {
      rmSync(dir, { recursive: true });
      writeFileSync(dir, '');
    },
    { code: 'PACKAGE_INVALID' },
  ],
  [
    'a node.json that is no JSON',
    write('node.json', '{\n  "id": "good",\n  oops\n}'),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json', line: 3, column: 3 }),
  ],
  [
    'a node.json that is cut short',
    write('node.json', '{"id": "goo'),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json', line: 1 }),
  ],
  ['an empty node.json', write('node.json', ''), refusedPackage('MANIFEST_INVALID', { file: 'node.json' })],
  ['a node.json that is a list', write('node.json', '[]'), refusedPackage('MANIFEST_INVALID', { file: 'node.json' })],
  [
    'a node.json that is not UTF-8',
    write('node.json', Buffer.from([0x7b, 0xff, 0x7d])),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json' }, /UTF-8/),
  ],
  [
    'a node.json with a byte order mark',
    write('node.json', '\ufeff{}'),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json' }, /byte order mark/),
  ],
  [
    'a node.json with a member twice',
    write('node.json', '{"id":"good","id":"good"}'),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json', path: '/id' }, /twice/),
  ],
  [
    'a node.json as deep as a well',
    write('node.json', `{"input":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json' }),
  ],
  ['a node.json that is too large', write('node.json', ' '.repeat(3 << 20)), { code: 'PACKAGE_INVALID' }],
  [
    'an unknown field',
    manifest((m) => {
      m.tittle = 'x';
    }),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json', path: '/tittle', line: expect.any(Number) }, /tittle/),
  ],
  [
    'an unknown field within a field',
    manifest((m) => {
      m.resources = { memroy: '1MiB' };
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/resources/memroy' }, /memroy/),
  ],
  [
    'no title',
    manifest((m) => {
      delete m.title;
    }),
    refusedPackage('MANIFEST_INVALID', { file: 'node.json' }, /title/),
  ],
  [
    'a title that is a number',
    manifest((m) => {
      m.title = 1;
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/title' }),
  ],
  [
    'an id that is none',
    manifest((m) => {
      m.id = 'Good!';
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/id' }),
  ],
  [
    'an id that is not the name of the package',
    manifest((m) => {
      m.id = 'other';
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/id' }),
  ],
  [
    'a version of the manifest to come',
    manifest((m) => {
      m.schemaVersion = 2;
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/schemaVersion' }),
  ],
  [
    'a memory without a unit',
    manifest((m) => {
      m.resources = { memory: '128' };
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/resources/memory' }),
  ],
  [
    'a memory of a terabyte',
    manifest((m) => {
      m.resources = { memory: '1048576MiB' };
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/resources/memory' }),
  ],
  [
    'a timeout of nothing',
    manifest((m) => {
      m.resources = { timeout: '0s' };
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/resources/timeout' }),
  ],
  [
    'more files than there may be',
    manifest((m) => {
      m.capabilities = { files: { maxBytes: '1MiB', maxCount: 1e9 } };
    }),
    refusedPackage('MANIFEST_INVALID', { path: '/capabilities/files/maxCount' }),
  ],
  [
    'a schema with an unknown keyword',
    manifest((m) => {
      m.input = { type: 'object', proprties: {} };
    }),
    refusedPackage('SCHEMA_UNSUPPORTED', { file: 'node.json', path: '/input/proprties', line: expect.any(Number) }),
  ],
  [
    'a schema with a remote reference',
    manifest((m) => {
      m.output = { $ref: 'https://example.com/x.json' };
    }),
    refusedPackage('SCHEMA_UNSUPPORTED', { file: 'node.json' }),
  ],
  [
    'a schema with a pattern that is none',
    manifest((m) => {
      m.config = { type: 'string', pattern: '(' };
    }),
    refusedPackage('SCHEMA_UNSUPPORTED', { path: '/config/pattern' }),
  ],
  [
    'a schema deeper than it may be',
    manifest((m) => {
      m.input = Array.from({ length: 40 }).reduce((inner) => ({ items: inner }), {});
    }),
    { code: 'PACKAGE_INVALID', says: /deep|nest/ },
  ],
  [
    'a version that is none',
    packageJson((p) => {
      p.version = 'one';
    }),
    refusedPackage('PACKAGE_JSON_INVALID', { file: 'package.json', path: '/version' }),
  ],
  [
    'no license',
    packageJson((p) => {
      delete p.license;
    }),
    refusedPackage('PACKAGE_JSON_INVALID', { file: 'package.json' }, /license/),
  ],
  [
    'a package.json that is no JSON',
    write('package.json', '{'),
    refusedPackage('PACKAGE_JSON_INVALID', { file: 'package.json', line: 1 }),
  ],
  [
    'a dependency and no lockfile',
    packageJson((p) => {
      p.dependencies = { marked: '18.0.0' };
    }),
    refusedPackage('LOCKFILE_MISSING', { file: 'package-lock.json' }),
  ],
  [
    'a dependency from git',
    packageJson((p) => {
      p.dependencies = { x: 'git+https://example.com/x.git' };
    }),
    refusedPackage('PACKAGE_JSON_INVALID', { path: '/dependencies/x' }),
  ],
  [
    'a dependency from a directory',
    packageJson((p) => {
      p.dependencies = { x: 'file:../x' };
    }),
    refusedPackage('PACKAGE_JSON_INVALID', { path: '/dependencies/x' }),
  ],
  [
    'a lockfile that is no JSON',
    write('package-lock.json', 'x'),
    refusedPackage('LOCKFILE_INVALID', { file: 'package-lock.json' }),
  ],
  [
    'a lockfile that package.json has left behind',
    locked({ dependencies: { 'csv-parse': '6.0.0' } }, { integrity: sha512 }),
    refusedPackage('LOCKFILE_INVALID', { file: 'package-lock.json' }),
  ],
  ['a lockfile of another tool', write('yarn.lock', ''), refusedPackage('LOCKFILE_INVALID', { file: 'yarn.lock' })],
  [
    'a locked package without integrity',
    locked({}, {}),
    refusedPackage('LOCKFILE_ENTRY_REFUSED', { file: 'package-lock.json' }),
  ],
  [
    'a locked package with a weak integrity',
    locked({}, { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }),
    refusedPackage('LOCKFILE_ENTRY_REFUSED'),
  ],
  [
    'a locked package from elsewhere',
    locked({}, { integrity: sha512, resolved: 'https://evil.example/x.tgz' }),
    refusedPackage('LOCKFILE_ENTRY_REFUSED'),
  ],
  [
    'a symbolic link',
    (dir) => symlinkSync('/etc/passwd', join(dir, 'src/passwd')),
    refusedPackage('PACKAGE_FILE_REFUSED', { file: 'src/passwd' }),
  ],
  [
    'a link out of a directory',
    (dir) => symlinkSync('..', join(dir, 'src/up')),
    refusedPackage('PACKAGE_FILE_REFUSED', { file: 'src/up' }),
  ],
  [
    'a pipe',
    (dir) => execFileSync('mkfifo', [join(dir, 'src/pipe')]),
    refusedPackage('PACKAGE_FILE_REFUSED', { file: 'src/pipe' }),
  ],
  [
    'a pipe in place of node.json',
    (dir) => {
      rmSync(join(dir, 'node.json'));
      execFileSync('mkfifo', [join(dir, 'node.json')]);
    },
    refusedPackage('PACKAGE_FILE_REFUSED', { file: 'node.json' }),
  ],
  ['a name with a line feed', write('src/a\nb.ts', ''), refusedPackage('PACKAGE_NAME_REFUSED')],
  [
    'two names that differ in case alone',
    (dir) => {
      writeFileSync(join(dir, 'src/a.ts'), '');
      writeFileSync(join(dir, 'src/A.ts'), '');
    },
    refusedPackage('PACKAGE_NAME_REFUSED'),
  ],
  [
    'a file that is too large',
    write('src/big.ts', Buffer.alloc((2 << 20) + 1, 0x20)),
    refusedPackage('PACKAGE_TOO_LARGE', { file: 'src/big.ts' }),
  ],
  [
    'too many files',
    (dir) => {
      for (let i = 0; i < 300; i++) writeFileSync(join(dir, `src/f${i}.ts`), '');
    },
    refusedPackage('PACKAGE_TOO_LARGE'),
  ],
];

const buildCases: [string, Change, Refusal][] = [
  [
    'a source that does not parse',
    write('src/index.ts', 'const ok = 1;\nconst = 2;\n'),
    { exit: 1, code: 'BUILD_FAILED', place: { file: 'src/index.ts', line: 2, column: 7 } },
  ],
  [
    'an import that leads nowhere',
    write('src/index.ts', "import './gone.ts';\nexport default 1;"),
    { exit: 1, code: 'BUILD_FAILED', place: { file: 'src/index.ts', line: 1 }, says: /gone/ },
  ],
  [
    'a package that is not there',
    write('src/index.ts', "import 'left-pad';\nexport default 1;"),
    { exit: 1, code: 'BUILD_FAILED', place: { file: 'src/index.ts', line: 1 }, says: /left-pad/ },
  ],
  [
    'a file of the host',
    write('src/index.ts', "import x from '/etc/hostname';\nexport default x;"),
    { exit: 1, code: 'BUILD_FAILED', place: { file: 'src/index.ts' } },
  ],
];

describe.concurrent('a node package', () => {
  it.each(packageCases)('with %s is refused before anything is built', async (_, change, refusal) => {
    expectRefusal(await cli().run(['node', 'run', await changed(change), '--trial', '--json']), refusal);
  });

  it.each(buildCases)('with %s is refused by the build', async (_, change, refusal) => {
    expectRefusal(await cli().run(['node', 'run', await changed(change), '--trial', '--json']), refusal);
  });

  it('with a fault and something odd is told the fault first', async () => {
    const name = await changed((dir, json) => {
      writeFileSync(join(dir, '.npmrc'), '');
      json('node.json', (m) => Object.assign(m, { tittle: 1 }));
    });
    const { json } = await cli().run(['node', 'run', name, '--trial', '--json']);
    expect(json().error?.place).toMatchObject({ file: 'node.json', path: '/tittle' });
    expect((json().findings as { severity: string }[]).map(({ severity }) => severity).sort()).toEqual([
      'error',
      'warning',
    ]);
  });

  it('with several faults is told all of them at once', async () => {
    const name = await changed((dir, json) => {
      json('node.json', (m) => Object.assign(m, { tittle: 1, title: '' }));
      json('package.json', (p) => Object.assign(p, { version: 'x' }));
      symlinkSync('x', join(dir, 'link'));
    });
    const { code, stderr } = await cli().run(['node', 'run', name, '--trial']);
    expect(code).toBe(2);
    for (const part of ['/tittle', '/title', '/version', 'link']) expect(stderr).toContain(part);
  });
});

const good = ['node', 'run', 'good', '--trial', '--json'];
const ways = ['node', 'run', 'many-ways', '--trial', '--json'];
const schemaed = ['--input', '{"do":"echo","value":1}'];

const valueCases: [string, string[], Refusal, string?][] = [
  [
    'input that is no JSON',
    [...good, '--input', '{"a":1,}'],
    { code: 'INPUT_NOT_JSON', place: { path: '/input', line: 1, column: 8 } },
  ],
  ['input that is empty', [...good, '--input', ''], { code: 'INPUT_NOT_JSON', place: { path: '/input' } }],
  ['input of several values', [...good, '--input', '1 2'], { code: 'INPUT_NOT_JSON', place: { line: 1, column: 3 } }],
  [
    'an integer that a double would change',
    [...good, '--input', '{"n":9007199254740993}'],
    { code: 'INPUT_NOT_JSON', says: /9007199254740993/ },
  ],
  ['a number that overflows', [...good, '--input', '1e999'], { code: 'INPUT_NOT_JSON' }],
  [
    'input that nests too deep',
    [...good, '--input', `${'['.repeat(200)}${']'.repeat(200)}`],
    { code: 'INPUT_NOT_JSON', says: /nested deeper/ },
  ],
  [
    'config that is no JSON',
    [...good, '--config', 'no'],
    { code: 'INPUT_NOT_JSON', place: { path: '/config', line: 1, column: 1 } },
  ],
  [
    'a file that is not there',
    [...good, '--input', '@nowhere.json'],
    { code: 'INPUT_UNREADABLE', place: { file: 'nowhere.json' } },
  ],
  ['a file that is a directory', [...good, '--input', '@good'], { code: 'INPUT_UNREADABLE', place: { file: 'good' } }],
  ['no file', [...good, '--input', '@'], { code: 'INPUT_UNREADABLE' }],
  [
    'a file that is not UTF-8',
    [...good, '--input', '@latin.json'],
    { code: 'INPUT_UNREADABLE', place: { file: 'latin.json' }, says: /UTF-8/ },
  ],
  [
    'a file that is no JSON',
    [...good, '--input', '@broken.json'],
    { code: 'INPUT_NOT_JSON', place: { file: 'broken.json', line: 3, column: 1 } },
  ],
  [
    'a file over the limit',
    [...good, '--input', '@large.json'],
    { code: 'INPUT_UNREADABLE', place: { file: 'large.json' }, says: /16777216 bytes/ },
  ],
  ['standard input that is empty', [...good, '--input', '@-'], { code: 'INPUT_NOT_JSON', place: { file: '-' } }],
  [
    'input with a member too many',
    [...ways, '--input', '{"do":"echo","x":1}'],
    { code: 'INPUT_INVALID', place: { path: '/x' } },
  ],
  [
    'input with a member too few',
    [...ways, '--input', '{}'],
    { code: 'INPUT_INVALID', place: { path: '' }, says: /"do"/ },
  ],
  ['input of another type', [...ways, '--input', '[]'], { code: 'INPUT_INVALID', place: { path: '' } }],
  ['a member of another type', [...ways, '--input', '{"do":1}'], { code: 'INPUT_INVALID', place: { path: '/do' } }],
  [
    'a member that is there twice',
    [...ways, '--input', '{"do":"echo","do":"echo"}'],
    { code: 'INPUT_INVALID', place: { path: '/do' } },
  ],
  [
    'config that the schema refuses',
    [...ways, ...schemaed, '--config', '{"mode":"c"}'],
    { code: 'CONFIG_VALUE_INVALID', place: { path: '/mode' } },
  ],
  ['text for an input that is no object', [...good, '--input', '[]', '--input-text', 'a=@in.txt'], { code: 'USAGE' }],
  ['text without a file', [...good, '--input-text', 'a=b'], { code: 'USAGE' }],
  [
    'text of a file that is not there',
    [...good, '--input-text', 'a=@nowhere.txt'],
    { code: 'INPUT_UNREADABLE', place: { file: 'nowhere.txt' } },
  ],
  [
    'standard input twice',
    [...good, '--input', '@-', '--config', '@-'],
    { code: 'USAGE', says: /standard input/ },
    '{}',
  ],
  [
    'a fixture that is not there',
    [...ways, '--fixture', 'nowhere'],
    { code: 'INPUT_UNREADABLE', place: { file: expect.stringContaining('fixtures/nowhere.json') } },
  ],
  ['a fixture that is a path', [...ways, '--fixture', '../node'], { code: 'USAGE' }],
  [
    'a fixture that is no JSON',
    [...ways, '--fixture', 'broken'],
    { code: 'INPUT_NOT_JSON', place: { file: expect.stringContaining('broken.json'), line: 1, column: 2 } },
  ],
  [
    'a fixture without an expectation',
    [...ways, '--fixture', 'bare'],
    { code: 'INPUT_INVALID', place: { file: expect.stringContaining('bare.json'), path: '/expect' } },
  ],
  ['a fixture with an unknown member', [...ways, '--fixture', 'odd'], { code: 'INPUT_INVALID', says: /inptu/ }],
  ['a fixture and an input', [...ways, '--fixture', 'good', ...schemaed], { code: 'USAGE' }],
  ['a run that is no trial', ['node', 'run', 'good', '--json'], { code: 'USAGE', says: /--trial/ }],
  ['a project that is none', [...good, '--project', 'No Name'], { code: 'USAGE' }],
  ['a project that is not there', [...good, '--project', 'other'], { code: 'NOT_FOUND' }],
];

describe.concurrent('a run', () => {
  beforeAll(() => {
    const file = (name: string, content: string | Uint8Array): void => writeFileSync(join(cli().dir, name), content);
    file('latin.json', Buffer.from('"\xe4"', 'latin1'));
    file('broken.json', '{\n  "a": 1,\n}');
    file('large.json', `"${'x'.repeat(16 << 20)}"`);
    file('in.txt', 'text');
    file('many-ways/fixtures/broken.json', '{nope}');
    file('many-ways/fixtures/bare.json', '{"input":{"do":"echo"}}');
    file('many-ways/fixtures/odd.json', '{"inptu":{},"input":{},"expect":{"output":1}}');
  });

  it.each(valueCases)('with %s is refused', async (_, args, refusal, stdin = '') => {
    expectRefusal(await cli().run(args, { stdin }), refusal);
  });
});

describe('a dependency', () => {
  const run = async (entry: Record<string, unknown>, settings = '') => {
    const home = await makeCliHome();
    try {
      writeFileSync(join(home.dataDir, 'glovebox.yaml'), settings, { mode: 0o600 });
      const result = await home.run([
        'node',
        'run',
        join(cli().dir, await changed(locked({}, entry))),
        '--trial',
        '--json',
      ]);
      expect({ residue: home.residue(), leftovers: home.leftovers() }).toEqual({ residue: [], leftovers: [] });
      return result;
    } finally {
      home.remove();
    }
  };

  it('that is not what the lockfile says is refused', async () => {
    expectRefusal(await run({ integrity: sha512 }), { code: 'DEPENDENCY_INTEGRITY', says: /csv-parse@7\.0\.3/ });
  });

  it('that the registry has not is refused', async () => {
    expectRefusal(await run({ integrity: sha512, version: '7.0.3-none.1' }), { code: 'DEPENDENCY_NOT_FOUND' });
  });

  it('from a registry that does not answer is told so', async () => {
    expectRefusal(await run({ integrity: sha512 }, 'registry: http://127.0.0.1:9/\n'), {
      exit: 1,
      code: 'REGISTRY_UNAVAILABLE',
      says: /127\.0\.0\.1:9/,
    });
  });
});

/** A dependency with this entry in the lockfile; `root` changes what the lockfile says of the package itself. */
function locked(root: Record<string, unknown>, entry: Record<string, unknown>): Change {
  return (dir, json) => {
    const dependencies = { 'csv-parse': entry.version ?? '7.0.3' };
    json('package.json', (p) => Object.assign(p, { dependencies }));
    writeFileSync(
      join(dir, 'package-lock.json'),
      JSON.stringify({
        name: 'good',
        version: '1.0.0',
        lockfileVersion: 3,
        requires: true,
        packages: {
          '': { name: 'good', version: '1.0.0', license: 'Apache-2.0', dependencies, ...root },
          'node_modules/csv-parse': { version: '7.0.3', license: 'MIT', ...entry },
        },
      }),
    );
  };
}
