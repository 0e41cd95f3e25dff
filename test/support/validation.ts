import type { Draft, ReportFinding } from '@glovebox/contract';
import { type CheckEvent, type Engine, putDraft, type Validated, validateDraft } from '@glovebox/engine';
import { readSnapshotDir } from '@glovebox/validate';

export const actor = 'local:uid=0';

type Files = { [path: string]: string | Uint8Array | null };

/** A small node package that passes every check, with files replaced, added, or (null) left out. */
export function goodPackage(files: Files = {}): Map<string, Uint8Array> {
  const all: Files = {
    'node.json': JSON.stringify(
      {
        schemaVersion: 1,
        id: 'adder',
        title: 'Adds',
        input: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number' } },
          required: ['a', 'b'],
          additionalProperties: false,
        },
        output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
        resources: { timeout: '5s', memory: '96MiB' },
      },
      undefined,
      2,
    ),
    'package.json': JSON.stringify(
      { name: 'adder', version: '1.0.0', license: 'Apache-2.0', private: true, type: 'module' },
      undefined,
      2,
    ),
    'src/index.ts': [
      "import { defineNode } from '@glovebox/sdk';",
      "import { add } from './add.ts';",
      '',
      'export default defineNode<{ a: number; b: number }, object, { sum: number }>(async (ctx) => {',
      '  return { sum: add(ctx.input.a, ctx.input.b) };',
      '});',
      '',
    ].join('\n'),
    'src/add.ts': 'export const add = (a: number, b: number): number => a + b;\n',
    'test/add.test.ts': [
      "import assert from 'node:assert/strict';",
      "import { test } from 'node:test';",
      "import { add } from '../src/add.ts';",
      '',
      "test('adds', () => {",
      '  assert.equal(add(1, 2), 3);',
      '});',
      '',
    ].join('\n'),
    'fixtures/basic.json': JSON.stringify({ input: { a: 1, b: 2 }, expect: { output: { sum: 3 } } }),
    ...files,
  };
  return new Map(
    Object.entries(all).flatMap(([path, content]) =>
      content === null ? [] : [[path, typeof content === 'string' ? Buffer.from(content) : content] as const],
    ),
  );
}

export async function putFiles(engine: Engine, files: ReadonlyMap<string, Uint8Array>): Promise<Draft> {
  return (await putDraft(engine, { project: 'default', actor, files })).draft;
}

export async function filesOf(dir: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const snapshot = await readSnapshotDir(dir);
  if (!snapshot.ok) throw new Error(JSON.stringify(snapshot.findings));
  return snapshot.files;
}

export interface Validation extends Validated {
  events: CheckEvent[];
  /** State by check, such as `passed` or `passed (cached)`. */
  states: { [check: string]: string };
}

/** Register files as a draft and validate it. */
export async function validateFiles(
  engine: Engine,
  files: ReadonlyMap<string, Uint8Array>,
  signal?: AbortSignal,
): Promise<Validation> {
  const { project, id, revision } = await putFiles(engine, files);
  const events: CheckEvent[] = [];
  const onCheck = (event: CheckEvent): void => void events.push(event);
  const validated = await validateDraft(engine, { project, id, revision, actor }, { onCheck }, signal);
  const states = Object.fromEntries(
    validated.report.checks.map(({ id: check, state, cached }) => [check, cached ? `${state} (cached)` : state]),
  );
  return { ...validated, events, states };
}

/** `check rule file:line` of each finding. */
export const told = (findings: readonly ReportFinding[]): string[] =>
  findings.map(({ check, rule, file, line }) => `${check} ${rule} ${file ?? ''}${line === null ? '' : `:${line}`}`);
