import { compilerOptions } from './compiler-options.ts';
import { agentsText, readmeText } from './template-texts.ts';

export interface TemplateOptions {
  /** A valid node id; becomes the package's name. */
  id: string;
  title: string;
}

/**
 * A complete small node package that passes its own tests: counts words. What `sdkPackageFiles` gives comes on top.
 *
 * @returns path in the package → text, in the order in which a reader would look at them.
 */
export function nodeTemplate({ id, title }: TemplateOptions): Map<string, string> {
  return new Map([
    ['README.md', readmeText(id, title)],
    ['AGENTS.md', agentsText(id)],
    ['node.json', json(manifest(id, title))],
    ['package.json', json(packageJson(id))],
    ['tsconfig.json', json(tsconfig)],
    ['src/index.ts', source],
    ['test/index.test.ts', test],
    ['fixtures/basic.json', json(fixture)],
    ['.gitignore', '.glovebox/\nnode_modules/\n'],
  ]);
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const object = (properties: object, required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const manifest = (id: string, title: string) => ({
  $schema: '.glovebox/node.schema.json',
  schemaVersion: 1,
  id,
  title,
  description: 'Counts the words of a text and tells the most frequent ones.',
  category: 'transform',
  input: object({ text: { type: 'string', maxLength: 100_000 } }, ['text']),
  config: object({ top: { type: 'integer', minimum: 1, maximum: 100, default: 3 } }, []),
  output: object(
    {
      words: { type: 'integer', minimum: 0 },
      top: {
        type: 'array',
        items: object({ word: { type: 'string' }, count: { type: 'integer', minimum: 1 } }, ['word', 'count']),
      },
    },
    ['words', 'top'],
  ),
  sideEffect: 'none',
  resources: { timeout: '30s', memory: '128MiB', output: '256KiB' },
});

const packageJson = (id: string) => ({
  name: id,
  version: '0.1.0',
  license: 'UNLICENSED',
  private: true,
  type: 'module',
  scripts: {
    test: 'node --import ./.glovebox/register.mjs --test',
    typecheck: 'tsc --project tsconfig.json',
  },
  devDependencies: { '@types/node': '26.6.7', typescript: '7.0.2' },
  engines: { node: '>=24.15' },
});

const tsconfig = {
  compilerOptions: {
    ...compilerOptions,
    paths: {
      '@glovebox/sdk': ['./.glovebox/types/index.d.ts'],
      '@glovebox/sdk/testing': ['./.glovebox/types/testing.d.ts'],
    },
  },
  include: ['src', 'test'],
};

const source = `import { defineNode, NodeError } from '@glovebox/sdk';

interface Input {
  text: string;
}

interface Config {
  /** How many words to tell. */
  top?: number;
}

interface Output {
  words: number;
  top: { word: string; count: number }[];
}

export default defineNode<Input, Config, Output>(async (ctx) => {
  const words = ctx.input.text.toLowerCase().match(/\\p{Letter}+/gu) ?? [];
  if (words.length === 0) throw new NodeError('NO_WORDS', 'The text has no word in it.');

  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  ctx.log.info('counted', { words: words.length, distinct: counts.size });

  const top = [...counts]
    .map(([word, count]) => ({ word, count }))
    .sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1))
    .slice(0, ctx.config.top ?? 3);
  return { words: words.length, top };
});
`;

const test = `import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';

const fixture = JSON.parse(readFileSync(new URL('../fixtures/basic.json', import.meta.url), 'utf8'));

test('gives what the fixture expects', async () => {
  const result = await runNode(node, { input: fixture.input, config: fixture.config });
  assert.ok(result.ok);
  assert.deepEqual(result.output, fixture.expect.output);
});

test('tells no more words than config asks for', async () => {
  const result = await runNode(node, { input: { text: 'b a b' }, config: { top: 1 } });
  assert.ok(result.ok);
  assert.deepEqual(result.output.top, [{ word: 'b', count: 2 }]);
});

test('refuses a text without words, with a code of its own', async () => {
  const result = await runNode(node, { input: { text: '1 + 1' } });
  assert.ok(!result.ok);
  assert.equal(result.error.code, 'NO_WORDS');
});
`;

const fixture = {
  input: { text: 'The cat and the dog and the bird.' },
  config: { top: 2 },
  expect: {
    output: {
      words: 8,
      top: [
        { word: 'the', count: 3 },
        { word: 'and', count: 2 },
      ],
    },
  },
};
