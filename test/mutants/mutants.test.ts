import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import type { Mutant } from './mutant.ts';

const repository = resolve(import.meta.dirname, '../..');

/** All lists of mutants in this directory. */
async function readMutants(): Promise<Mutant[]> {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const modules = (await Promise.all(files.map((name) => import(join(import.meta.dirname, name))))) as object[];
  return modules.flatMap((module) => Object.values(module).filter(Array.isArray).flat() as Mutant[]);
}

/** The long tests make the mutants; here it is told soon where a change has taken one away. */
it('what each mutant changes stands once in its file', async () => {
  const mutants = await readMutants();
  expect(mutants.length).toBeGreaterThan(200);
  const astray = mutants.filter(
    ({ file, find }) => readFileSync(join(repository, file), 'utf8').split(find).length !== 2,
  );
  expect(astray.map(({ file, why }) => `${file}: ${why}`)).toEqual([]);
});
