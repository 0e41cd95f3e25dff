import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { conformanceTable } from '@glovebox/cell';
import { egressReasons } from '@glovebox/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { checkDocuments } from './docs-check.ts';
import { generatedDocuments } from './generated-docs.ts';

const repository = resolve(import.meta.dirname, '..');
const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true });
});

const reasons = egressReasons.map((reason) => `| \`${reason}\` | because |`);
const properties = conformanceTable.map(({ property }) => `\`${property}\` [x](x.test.ts)`);

/** A small repository whose documents are in order, with the real `glovebox` to ask for commands. */
const clean: { [path: string]: string } = {
  'package.json': JSON.stringify({ scripts: { demo: '', test: '', 'docs:write': '' } }),
  'package-lock.json': JSON.stringify({
    packages: {
      'node_modules/own': { resolved: 'packages/contract', link: true },
      'node_modules/a': { version: '1.0.0' },
    },
  }),
  'packages/contract/package.json': '{}',
  'packages/contract/src/error-catalogue.ts': '',
  'packages/contract/src/routes.ts': '',
  'README.md':
    '# Title\n\n[walk](ARCHITECTURE.md#the-walk) [web](https://example.com/x) `packages/contract`\n\n```sh\nnpm run demo\nnpm test\n```\n',
  'docs/x.test.ts': '',
  'docs/security-model.md': properties.join('\n'),
  'docs/stages/run.md': reasons.join('\n'),
  'ARCHITECTURE.md': '# Walk\n\n## The walk\n\n| folder | stage |\n|---|---|\n| `packages/contract` | all |\n',
};

function problemsOf(planted: { [path: string]: string }): string[] {
  const root = mkdtempSync(join(tmpdir(), 'documents-'));
  made.push(root);
  mkdirSync(join(root, 'adapters'));
  mkdirSync(join(root, 'docs'));
  for (const { path, text } of generatedDocuments()) writeFileSync(join(root, path), text);
  cpSync(join(repository, 'apps/cli/bin'), join(root, 'apps/cli/bin'), { recursive: true });
  cpSync(join(repository, 'apps/cli/package.json'), join(root, 'apps/cli/package.json'));
  symlinkSync(join(repository, 'apps/cli/src'), join(root, 'apps/cli/src'));
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
  // What is ignored and what is copied or linked for the command is not what is checked here.
  writeFileSync(join(root, '.gitignore'), 'node_modules/\napps/\n*.ignored.md\n');
  const architecture = `${clean['ARCHITECTURE.md']}| \`apps/cli\` | all |\n`;
  for (const [path, text] of Object.entries({ ...clean, 'ARCHITECTURE.md': architecture, ...planted })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text.replaceAll('ROOT', root));
  }
  return checkDocuments(root);
}

const registryHost = ['registry', 'npmjs', 'org'].join('.');

it('finds nothing in a repository whose documents are in order', () => {
  expect(
    problemsOf({
      'a.ignored.md': '[gone](gone.md)',
      'docs/commands.md': '```sh\nnpx glovebox help\nnpx glovebox node new x\n```\n',
    }),
  ).toEqual([]);
});

describe('finds', () => {
  it.each([
    ['a link to a file that is not there', 'docs/a.md', '[x](gone.md)', 'docs/a.md:1: links to gone.md'],
    [
      'a link to a heading that is not there',
      'docs/a.md',
      '\n[x](../README.md#gone)',
      'docs/a.md:2: links to ../README.md#gone',
    ],
    ['a path that is not there', 'docs/a.md', 'see `tools/gone.ts`', 'docs/a.md:1: names tools/gone.ts'],
    ['an npm script that is not there', 'docs/a.md', '```sh\nnpm run gone\n```', 'docs/a.md:2: npm script gone'],
    [
      'an npm script in running text that is not there',
      'docs/a.md',
      'run `npm run gone`',
      'docs/a.md:1: npm script gone',
    ],
    [
      'a command that is not there',
      'docs/a.md',
      '```sh\nnpx glovebox vanish now\n```',
      'docs/a.md:2: glovebox vanish now',
    ],
    [
      'a package that the folder table leaves out',
      'packages/other/package.json',
      '{}',
      'ARCHITECTURE.md: the folder table has no row for packages/other',
    ],
    [
      'a package of the folder table that is not there',
      'ARCHITECTURE.md',
      '| `apps/cli` |\n| `packages/contract` |\n| `packages/gone` |\n## The walk',
      'ARCHITECTURE.md:3: names packages/gone',
    ],
    [
      'a generated document that is not up to date',
      'docs/errors.md',
      '# Error codes',
      'docs/errors.md: is not what its source makes',
    ],
    [
      'a resolved URL in the lockfile',
      'package-lock.json',
      JSON.stringify({ packages: { 'node_modules/a': { resolved: 'https://example.com/a.tgz' } } }),
      'package-lock.json: node_modules/a has a resolved URL',
    ],
    [
      'a property of cells that no line shows with a test',
      'docs/security-model.md',
      properties.slice(1).join('\n'),
      `docs/security-model.md: has no line for the property ${conformanceTable[0]?.property}`,
    ],
    [
      'a property of cells that is named without a test',
      'docs/security-model.md',
      [...properties.slice(0, -1), `\`${conformanceTable.at(-1)?.property}\` [x](../README.md)`].join('\n'),
      `docs/security-model.md: has no line for the property ${conformanceTable.at(-1)?.property}`,
    ],
    [
      'a reason of egress that no row explains',
      'docs/stages/run.md',
      reasons.slice(1).join('\n'),
      `docs/stages/run.md: has no row for the reason ${egressReasons[0]}`,
    ],
    ['a path of this machine', 'tools/a.ts', '// see ROOT/notes', 'tools/a.ts:1: a path of this machine'],
    [
      'the host of a registry',
      'tools/a.ts',
      `\nconst host = '${registryHost}';`,
      'tools/a.ts:2: the host of a package registry',
    ],
    ['a ticket number', 'tools/a.ts', `// as asked for in ${'iss'}ue 12`, 'tools/a.ts:1: a ticket number'],
    ['a plan code', 'tools/a.test.ts', `it('${'X'}07: refuses', () => {});`, 'tools/a.test.ts:1: a plan code'],
    [
      'a note of work that is not done',
      'tools/a.ts',
      `// ${'TO'}${'DO'}: all of it`,
      'tools/a.ts:1: work that is not done',
    ],
  ])('%s', (_, path, text, problem) => {
    expect(problemsOf({ [path]: text })).toEqual([expect.stringContaining(problem)]);
  });
});
