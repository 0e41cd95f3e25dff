import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { conformanceTable } from '@glovebox/cell';
import { egressReasons } from '@glovebox/contract';
import { type MarkdownParts, readMarkdown } from './docs/markdown.ts';
import { foreignWords } from './docs/words.ts';
import { staleDocuments } from './generated-docs.ts';

/** Hold the documents against the repository. @returns one line for each thing that is wrong. */
export function checkDocuments(root: string): string[] {
  const texts = new Map(repositoryFiles(root).flatMap((file) => textOf(root, file)));
  const documents = new Map(
    [...texts]
      .filter(([file]) => file.endsWith('.md') && !/(^|\/)fixtures\//.test(file))
      .map(([file, text]) => [file, readMarkdown(text)]),
  );
  return [
    ...staleDocuments(root).map((file) => `${file}: is not what its source makes; run npm run docs:write`),
    ...[...documents].flatMap(([file, parts]) => [
      ...brokenLinks(root, file, parts, documents),
      ...missingPaths(root, file, parts),
    ]),
    ...unknownCommands(root, documents),
    ...folderTable(root),
    ...unnamedProperties(texts.get(securityModel) ?? ''),
    ...unnamedReasons(texts.get(runPage) ?? ''),
    ...[...texts].flatMap(([file, text]) => foreignWords(root, file, text)),
    ...resolvedEntries(root),
  ];
}

/** What git has or would add, told by .gitignore (names and endings only) so that no git is needed. Sorted. */
function repositoryFiles(root: string): string[] {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const names = new Set(['.git', ...ignored.map((line) => line.replace(/\/$/, ''))]);
  const endings = ignored.filter((line) => line.startsWith('*.')).map((line) => line.slice(1));
  return globSync('**', { cwd: root, withFileTypes: true, exclude: ({ name }) => names.has(name) })
    .filter((entry) => entry.isFile() && !endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

function textOf(root: string, file: string): [file: string, text: string][] {
  try {
    return [[file, readFileSync(join(root, file), 'utf8')]];
  } catch (error) {
    // Tests that run meanwhile make files and remove them.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function brokenLinks(
  root: string,
  file: string,
  { links }: MarkdownParts,
  documents: ReadonlyMap<string, MarkdownParts>,
): string[] {
  return links.flatMap(({ target, line }) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const absolute = path === '' ? join(root, file) : resolve(root, dirname(file), decodeURIComponent(path));
    if (!existsSync(absolute)) return [`${file}:${line}: links to ${target}, which is not there`];
    const anchors = documents.get(relative(root, absolute))?.anchors;
    return anchor === undefined || anchors === undefined || anchors.has(anchor)
      ? []
      : [`${file}:${line}: links to ${target}, a heading that is not there`];
  });
}

/** A path of this repository in backticks is a promise that it is there. Patterns must match something. */
function missingPaths(root: string, file: string, { code }: MarkdownParts): string[] {
  return code
    .filter(({ text }) => /^(packages|adapters|apps|tools|test|bench|docs|examples|\.ci)\/[^\s<>]*$/.test(text))
    .filter(({ text }) => globSync(text.replace(/\/$/, ''), { cwd: root }).length === 0)
    .map(({ text, line }) => `${file}:${line}: names ${text}, which is not there`);
}

/** Commands in the code blocks of documents: npm scripts and `glovebox` commands must exist. */
function unknownCommands(root: string, documents: ReadonlyMap<string, MarkdownParts>): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: { [name: string]: string };
  };
  const known = new Map<string, boolean>();
  const isCommand = (words: string[]) => {
    const key = words.join(' ');
    if (!known.has(key)) known.set(key, key === 'help' || helpOf(root, words));
    return known.get(key) === true;
  };
  const problems: string[] = [];
  for (const [file, { commands, code }] of documents) {
    const shown = [...commands.filter(({ language }) => language === 'sh'), ...code];
    for (const { text, line } of shown) {
      const script = /^\s*(?:\$ )?npm (?:run ([\w:-]+)|(test)\b)/.exec(text);
      const name = script?.[1] ?? script?.[2];
      if (name !== undefined && scripts[name] === undefined)
        problems.push(`${file}:${line}: npm script ${name} is not there`);
      const words = /^\s*(?:\$ )?(?:npx )?glovebox((?: [a-z]+)+)/.exec(text)?.[1]?.trim().split(' ').slice(0, 2);
      if (words !== undefined && !isCommand(words) && !isCommand(words.slice(0, 1)))
        problems.push(`${file}:${line}: glovebox ${words.join(' ')} is no command`);
    }
  }
  return problems;
}

function helpOf(root: string, words: string[]): boolean {
  try {
    execFileSync(process.execPath, [join(root, 'apps/cli/bin/glovebox.mjs'), 'help', ...words], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The table of ARCHITECTURE.md has a row for each package, adapter and app. Rows for what is gone are missing paths. */
function folderTable(root: string): string[] {
  const file = 'ARCHITECTURE.md';
  if (!existsSync(join(root, file))) return [`${file}: is not there`];
  const rows = new Set(
    [...readFileSync(join(root, file), 'utf8').matchAll(/^\| \[?`((?:packages|adapters|apps)\/[^`/]+)\/?`/gm)].map(
      ([, path = '']) => path,
    ),
  );
  const folders = ['packages', 'adapters', 'apps']
    .flatMap((layer) => readdirSync(join(root, layer)).map((name) => `${layer}/${name}`))
    .filter((dir) => existsSync(join(root, dir, 'package.json')));
  return folders.filter((dir) => !rows.has(dir)).map((dir) => `${file}: the folder table has no row for ${dir}`);
}

const securityModel = 'docs/security-model.md';

/** What cells are said to be is shown somewhere: each property has a line with a link to a test of it. */
function unnamedProperties(text: string): string[] {
  const lines = text.split('\n').filter((line) => /\]\([^)]+\.test\.ts\)/.test(line));
  return conformanceTable
    .filter(({ property }) => !lines.some((line) => line.includes(`\`${property}\``)))
    .map(({ property }) => `${securityModel}: has no line for the property ${property} with a link to a test`);
}

const runPage = 'docs/stages/run.md';

/** Whoever is told a reason finds there what it means. */
function unnamedReasons(text: string): string[] {
  const named = new Set([...text.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, reason]) => reason));
  return egressReasons
    .filter((reason) => !named.has(reason))
    .map((reason) => `${runPage}: has no row for the reason ${reason}`);
}

/** A lockfile that names tarball URLs ties every clone to one registry. */
function resolvedEntries(root: string): string[] {
  const nodes = ['examples', 'bench/nodes', 'test/compat/nodes'].map((place) => `${place}/*/package-lock.json`);
  return globSync(['package-lock.json', 'bench/package-lock.json', ...nodes], { cwd: root }).flatMap((file) => {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      packages: { [path: string]: { resolved?: string; link?: boolean } };
    };
    return Object.entries(packages)
      .filter(([, entry]) => entry.resolved !== undefined && !entry.link)
      .map(([path]) => `${file}: ${path} has a resolved URL`);
  });
}

if (import.meta.main) {
  const problems = checkDocuments(resolve(import.meta.dirname, '..'));
  for (const problem of problems) console.log(problem);
  console.log(`documents: ${problems.length === 0 ? 'all in order' : `${problems.length} wrong`}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
