import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyRepository, type RepositoryCopy } from './copy.ts';
import type { Mutant } from './mutant.ts';
import { runTests } from './run-test.ts';

const timeoutMs = 90_000;

/** Tests that show, in a copy of the repository, that each of these mutants is noticed by the test that it names. */
export function noticeMutants(mutants: readonly Mutant[]): void {
  let copy: RepositoryCopy;
  beforeAll(() => {
    copy = copyRepository(resolve(import.meta.dirname, '../..'));
  });
  afterAll(() => copy.remove());

  // Tests of one file are shown to pass in one go, before any mutant of them.
  describe.each([...Map.groupBy(mutants, ({ test }) => test.file)])('%s', (file, guards) => {
    it('passes as things are', async () => {
      const names = [...new Set(guards.map(({ test }) => test.name))];
      const outcomes = await runTests(copy.root, file, names, timeoutMs);
      expect(outcomes).toEqual(new Map(names.map((name) => [name, 'passed'])));
    });

    it.each(guards.map((mutant) => ({ ...mutant, label: `${mutant.file}: ${mutant.why}` })))(
      'notices: $label',
      async (mutant) => {
        const path = join(copy.root, mutant.file);
        const text = readFileSync(path, 'utf8');
        expect(text.split(mutant.find)).toHaveLength(2);
        try {
          writeFileSync(
            path,
            text.replace(mutant.find, () => mutant.replace),
          );
          const outcomes = await runTests(copy.root, file, [mutant.test.name], timeoutMs);
          // Whoever does not come to an end has noticed, too. A file that cannot be loaded has not.
          if (outcomes !== 'hung') expect(outcomes).toEqual(new Map([[mutant.test.name, 'failed']]));
        } finally {
          writeFileSync(path, text);
        }
      },
    );
  });
}
