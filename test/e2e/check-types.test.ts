import { describe, expect, it } from 'vitest';
import { packageTgz } from '../support/tar-writer.ts';
import { seen, useChecks } from '../support/use-checks.ts';

const checks = useChecks();

const passed = { state: 'passed', findings: [], facts: {} };

/** A node, its test and what they import: SDK, testing kit, Node.js, JSON. */
const sound = {
  'src/index.ts': `import { createHash } from 'node:crypto';
import { defineNode, NodeError } from '@glovebox/sdk';
import table from './table.json' with { type: 'json' };
export default defineNode<{ text: string }, { top?: number }, { digest: string }>(async (ctx) => {
  if (ctx.input.text === '') throw new NodeError('EMPTY', table.message);
  return { digest: createHash('sha256').update(ctx.input.text).digest('hex') };
});
`,
  'src/table.json': '{"message":"empty"}',
  'test/index.test.ts': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';
test('x', async () => {
  const result = await runNode(node, { input: { text: 'a' } });
  assert.ok(result.ok && result.output.digest.length === 64);
});
`,
};

/** One error in the source, one in a test. */
const unsound = {
  ...sound,
  'src/index.ts': `${sound['src/index.ts']}export const n: number = 'text';\n`,
  'test/index.test.ts': `${sound['test/index.test.ts']}const list: string[] = [];\nconst one: string = list[0];\n`,
};
const errors = [
  ['TYPES_FAILED', 'src/index.ts', 8, "TS2322: Type 'string' is not assignable to type 'number'."],
  [
    'TYPES_FAILED',
    'test/index.test.ts',
    10,
    "TS2322: Type 'string | undefined' is not assignable to type 'string'. Type 'undefined' is not assignable to type 'string'.",
  ],
];

const mild = { strict: false, noCheck: true, skipLibCheck: true, types: [], noUncheckedIndexedAccess: false };
/** What a package may bring to have another verdict. */
const configurations: Record<string, Record<string, string>> = {
  'mild settings': { 'tsconfig.json': JSON.stringify({ compilerOptions: mild }) },
  'no files': { 'tsconfig.json': JSON.stringify({ files: [], include: [], exclude: ['**/*'] }) },
  'settings from outside': { 'tsconfig.json': JSON.stringify({ extends: '/etc/passwd', compilerOptions: mild }) },
  'settings above it': { 'tsconfig.json': JSON.stringify({ extends: '../../../toolchain/tsconfig.json' }) },
  'settings that do not end': { 'tsconfig.json': JSON.stringify({ extends: './tsconfig.json' }) },
  plugins: {
    'tsconfig.json': JSON.stringify({ compilerOptions: { plugins: [{ name: './plugin.js' }] } }),
    'plugin.js': 'process.exit(0)',
  },
  'another SDK': {
    'tsconfig.json': JSON.stringify({ compilerOptions: { paths: { '@glovebox/sdk': ['./fake.ts'] } } }),
    'fake.ts': 'export const defineNode: any = 1; export const NodeError: any = 1;',
  },
  'a file that is no JSON': { 'tsconfig.json': '{{{' },
  'settings in each folder': {
    'src/tsconfig.json': JSON.stringify({ compilerOptions: mild }),
    'test/tsconfig.json': JSON.stringify({ compilerOptions: mild }),
    'jsconfig.json': JSON.stringify({ compilerOptions: mild }),
    'tsconfig.build.json': JSON.stringify({ compilerOptions: mild }),
  },
  'scripts that do nothing': {
    'package.json': JSON.stringify({
      name: 'made-up',
      type: 'module',
      scripts: { typecheck: 'true', test: 'true', pretest: 'exit 0' },
      tsc: { noCheck: true },
    }),
  },
};

describe('types that are sound', () => {
  it('pass, with those of the SDK, its testing kit and Node.js', async () => {
    expect(await checks().types(sound)).toEqual(passed);
  });

  it('pass without a test', async () => {
    expect(await checks().types({})).toEqual(passed);
  });
});

describe('types that are not', () => {
  it('are told with file, line and column, of source and tests, all at once', async () => {
    const outcome = await checks().types(unsound);
    expect(outcome.state).toBe('failed');
    expect(seen(outcome)).toEqual(errors);
    expect(outcome.findings[0]?.place).toEqual({ file: 'src/index.ts', line: 8, column: 14 });
  });

  it('are told of a name that looks like a place, and in a bounded number', async () => {
    const name = 'src/a(1,2): error TS1: b.ts';
    const many = Array.from({ length: 150 }, (_, i) => `export const v${i}: number = '';`).join('\n');
    const { findings } = await checks().types({ [name]: many });
    expect(findings).toHaveLength(101);
    expect(findings[99]?.place).toEqual({ file: name, line: 100, column: 14 });
    expect(findings[100]?.message).toContain('50 errors more');
  });

  it('are told where the SDK is used wrongly', async () => {
    const outcome = await checks().types({
      'src/index.ts':
        "import { defineNode } from '@glovebox/sdk';\nexport default defineNode<{}, {}, { n: number }>(async (ctx) => {\n  ctx.nothing();\n  return { n: 1 };\n});\n",
    });
    expect(seen(outcome)).toEqual([
      ['TYPES_FAILED', 'src/index.ts', 3, expect.stringContaining("'nothing' does not exist")],
    ]);
  });
});

describe('nothing of the package changes the verdict:', () => {
  it.each(Object.entries(configurations))('%s', async (_, files) => {
    expect(seen(await checks().types({ ...unsound, ...files }))).toEqual(errors);
  });

  it('not even that of types that are sound', async () => {
    expect(await checks().types(Object.assign({}, sound, ...Object.values(configurations)))).toEqual(passed);
  });
});

const bad = "export const n: number = '';\n";

describe('a file that is checked', () => {
  it('is any that is TypeScript, whatever it is called and wherever it lies', async () => {
    const paths = [
      'a.mts',
      'lib/a.ts',
      'src/.a.ts',
      'src/.x/a.ts',
      'test/.a.test.ts',
      'test/bower_components/a.test.ts',
    ];
    const all = (text: string) => checks().types(Object.fromEntries(paths.map((path) => [path, text])));
    expect(await all('export const n: number = 1;\n')).toEqual(passed);
    expect(seen(await all(bad)).map(([rule, file]) => [rule, file])).toEqual(
      paths.map((path) => ['TYPES_FAILED', path]),
    );
  });

  it('may be a declaration of the author, beside a package whose declarations are wrong', async () => {
    const uses = { 'src/index.ts': "import { n } from './a.js';\nimport 'dep';\nexport default n;\n", 'src/a.js': '' };
    const bytes = packageTgz('dep', '1.0.0', { 'index.js': '', 'index.d.ts': 'export const x: Missing;\n' });
    const types = (text: string) => checks().types({ ...uses, 'src/a.d.ts': text }, { 'node_modules/dep': { bytes } });
    expect(await types('export const n: number;\n')).toEqual(passed);
    expect(seen(await types('export const n: Missing;\n'))).toEqual([
      ['TYPES_FAILED', 'src/a.d.ts', 1, "TS2304: Cannot find name 'Missing'."],
    ]);
  });
});

describe('a declaration that cannot be parsed', () => {
  it('of a package fails the check, which would look at no type otherwise', async () => {
    const files = (value: string) => ({ 'src/index.ts': `import 'dep';\nexport const n: number = ${value};\n` });
    const dep = (text: string, development?: true) => ({
      'node_modules/dep': {
        bytes: packageTgz('dep', '1.0.0', { 'index.js': '', 'index.d.ts': text }),
        ...(development === undefined ? {} : { development }),
      },
    });
    for (const development of [undefined, true] as const) {
      for (const value of ["''", '0']) {
        const { state, findings } = await checks().types(files(value), dep('export const x: ;\n', development));
        expect({ state, findings }).toMatchObject({
          state: 'failed',
          findings: [{ rule: 'TYPES_FAILED', place: { file: 'node_modules/dep' } }],
        });
      }
    }
    expect(await checks().types(files('0'), dep('export const x: number;\n'))).toEqual(passed);
    expect(seen(await checks().types(files("''"), dep('export const x: number;\n')))).toHaveLength(1);
  });
});

describe('a module that is declared', () => {
  const misuse = "import { defineNode } from '@glovebox/sdk';\nexport default defineNode(1, 2).whatever;\n";
  const missing = "import { q } from './nothere.ts';\nexport default q.foo;\n";
  const dep = (text: string, development?: true) => {
    const files = { 'index.js': '', 'index.d.ts': '/// <reference path="./g.d.ts" />\nexport const x: number;\n' };
    const bytes = packageTgz('dep', '1.0.0', { ...files, 'g.d.ts': text });
    return { 'node_modules/dep': { bytes, ...(development === undefined ? {} : { development }) } };
  };
  const standIns = [
    [misuse, "declare module '@glovebox/sdk' { export const defineNode: any; }"],
    [missing, "declare module '*';"],
  ] as const;

  it.each(standIns)('by a package, in place of what is checked, is told: %#', async (use, text) => {
    const files = { 'src/index.ts': `import 'dep';\n${use}` };
    for (const development of [undefined, true] as const) {
      const { findings } = await checks().types(files, dep(text, development));
      expect(findings).toMatchObject([{ rule: 'DEPENDENCY_REFUSED', place: { file: 'node_modules/dep/g.d.ts' } }]);
    }
  });

  it.each(standIns)('by the author is told as well: %#', async (use, text) => {
    const { findings } = await checks().types({ 'src/index.ts': use, 'src/x.d.ts': text });
    expect(findings).toMatchObject([{ rule: 'TYPES_SUPPRESSED', place: { file: 'src/x.d.ts' } }]);
  });

  it('is none in a comment, and no matter where it is for what has no types', async () => {
    const text = `// declare module '@glovebox/sdk' {}
/**
 * declare module '*' {}
 */
declare module '*.svg' { const text: string; export default text; }
declare module 'untyped' { export const n: number; }
`;
    const files = { 'src/index.ts': "import 'dep';\nimport { n } from 'untyped';\nexport default n;\n" };
    expect(await checks().types(files, dep(text))).toEqual(passed);
    expect(await checks().types({ ...files, 'src/x.d.ts': text }, dep('export {};'))).toEqual(passed);
  });

  it('of Node.js stays what it is', async () => {
    const use = "import { createHash } from 'node:crypto';\nexport default createHash(5).whatever;\n";
    const text = "declare module 'node:crypto' { export const createHash: any; }\n";
    expect(seen(await checks().types({ 'src/index.ts': `import 'dep';\n${use}` }, dep(text)))).toEqual([
      ['TYPES_FAILED', 'src/index.ts', 3, expect.any(String)],
      ['TYPES_FAILED', 'src/index.ts', 3, expect.any(String)],
    ]);
  });
});

describe('a comment that switches the check off', () => {
  it.each(['// @ts-nocheck\n', '#!/bin/node\n/* a */ /// @TS-nocheck: later\n', '\u0085\u200b// @ts-nocheck.\n'])(
    'is a finding of its own, and nothing else is told: %j',
    async (comment) => {
      expect(seen(await checks().types({ 'src/more.ts': bad }))).toEqual([
        ['TYPES_FAILED', 'src/more.ts', 1, expect.any(String)],
      ]);
      const outcome = await checks().types({ 'src/more.ts': comment + bad });
      expect(outcome.state).toBe('failed');
      expect(outcome.findings.map(({ rule, place }) => [rule, place.file])).toEqual([
        ['TYPES_SUPPRESSED', 'src/more.ts'],
      ]);
    },
  );

  it('is not what an error that is expected in one line has', async () => {
    const text = "// @ts-expect-error: the next line is wrong on purpose\nexport const n: number = '';\n";
    expect(await checks().types({ 'src/more.ts': text })).toEqual(passed);
  });
});

describe('a dependency', () => {
  const uses = { 'src/index.ts': "import { add } from 'dep';\nexport default (): number => add(1, 2);\n" };
  const dep = (files: Record<string, string>) => ({ 'node_modules/dep': { bytes: packageTgz('dep', '1.0.0', files) } });
  const js = { 'index.js': 'exports.add = (a, b) => a + b;' };

  it('has the types that it brings, or that a package for development has of it', async () => {
    const types = 'export declare function add(a: number, b: number): number;';
    expect(await checks().types(uses, dep({ ...js, 'index.d.ts': types }))).toEqual(passed);
    expect(
      await checks().types(uses, {
        ...dep(js),
        'node_modules/@types/dep': {
          bytes: packageTgz('@types/dep', '1.0.0', { 'index.d.ts': types }),
          development: true,
        },
      }),
    ).toEqual(passed);
    expect(seen(await checks().types(uses, dep(js)))).toEqual([
      ['TYPES_FAILED', 'src/index.ts', 1, expect.stringContaining("find a declaration file for module 'dep'")],
    ]);
  });

  it('cannot stand in for the types of Node.js or of the SDK', async () => {
    const evil = {
      'node_modules/@types/node': {
        bytes: packageTgz('@types/node', '1.0.0', {
          'index.d.ts': "declare module 'node:crypto' { export const createHash: any; }",
        }),
        development: true as const,
      },
    };
    expect(await checks().types(sound, evil)).toEqual(passed);
    expect(seen(await checks().types(unsound, evil))).toEqual(errors);
    const sdk = {
      'node_modules/@glovebox/sdk': { bytes: packageTgz('@glovebox/sdk', '1.0.0', {}), development: true as const },
    };
    expect((await checks().types(sound, sdk)).findings).toMatchObject([
      { rule: 'DEPENDENCY_REFUSED', place: { file: 'node_modules/@glovebox/sdk' } },
    ]);
  });

  it('with errors in its own sources is named', async () => {
    const source = "export const add = (a: number, b: number): number => a + b;\nexport const n: number = '';\n";
    const bytes = packageTgz('dep', '1.0.0', { 'index.ts': source }, { type: 'module', exports: './index.ts' });
    const outcome = await checks().types(uses, { 'node_modules/dep': { bytes } });
    expect(seen(outcome)).toEqual([
      ['TYPES_FAILED', 'node_modules/dep', undefined, expect.stringContaining('index.ts(2,14): TS2322')],
    ]);
  });

  it('that is refused is named, and one for development alone is left out', async () => {
    const scripts = packageTgz('dep', '1.0.0', js, { scripts: { install: 'x' } });
    expect((await checks().types({}, { 'node_modules/dep': { bytes: scripts } })).findings).toMatchObject([
      { rule: 'DEPENDENCY_REFUSED', place: { file: 'node_modules/dep/package.json' } },
    ]);
    expect(await checks().types({}, { 'node_modules/dep': { bytes: scripts, development: true } })).toEqual(passed);
  });
});

describe('types that are too costly', () => {
  const bomb = (depth: number) =>
    `type Bomb<T, D extends 1[] = []> = D['length'] extends ${depth} ? T : Bomb<[T, 'l'], [...D, 1]> | Bomb<[T, 'r'], [...D, 1]>;
${Array.from({ length: 200 }, (_, i) => `export const x${i} = 0 as unknown as Bomb<${i}>;`).join('\n')}`;

  it('end in time, and are told', async () => {
    expect(await checks().types({ 'src/bomb.ts': bomb(2) })).toEqual(passed);
    const outcome = await checks().types({ 'src/bomb.ts': bomb(18) }, {}, { deadlineMs: 3000 });
    expect(outcome).toMatchObject({ state: 'failed', findings: [{ rule: 'TYPES_TIMED_OUT' }] });
    expect(checks().ends.at(-1)).toMatchObject({ cause: 'deadline' });
  });
});

describe('a check that is cancelled', () => {
  it('leaves no cell', async () => {
    const before = checks().ends.length;
    const result = checks().types(sound, {}, { signal: AbortSignal.timeout(100) });
    await expect(result).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(checks().ends.slice(before)).toMatchObject([{ cause: 'cancelled' }]);
  });
});
