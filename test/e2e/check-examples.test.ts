import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { restoreDependencies } from '@glovebox/engine';
import { createPackageSource } from '@glovebox/registry-npm';
import { nodeTemplate } from '@glovebox/sdk/template';
import { readNodePackage } from '@glovebox/validate';
import { describe, expect, it } from 'vitest';
import { useChecks } from '../support/use-checks.ts';

const checks = useChecks();
const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const caFile = process.env.GLOVEBOX_EXTRA_CA;
const packages = createPackageSource({
  cacheDir: fileURLToPath(new URL('../../.cache/test-packages', import.meta.url)),
  ...(caFile === undefined ? {} : { caFile }),
});

describe('types and tests pass', () => {
  it.each(readdirSync(examples))('of the example %s', async (name) => {
    const read = await readNodePackage(join(examples, name), { registries: packages.registries() });
    if (!read.ok) return expect.fail(JSON.stringify(read.findings));
    const { dependencies, devDependencies, files } = read.pkg;
    const tarballs = await restoreDependencies([...dependencies, ...devDependencies], packages);
    const archives = Object.fromEntries(
      tarballs.map((tarball) => {
        const isOfNode = dependencies.some(({ path }) => path === tarball.path);
        return [tarball.path, { ...tarball, ...(isOfNode ? {} : { development: true as const }) }];
      }),
    );
    const [types, tests] = await Promise.all([
      checks().types(Object.fromEntries(files), archives),
      checks().tests(Object.fromEntries(files), archives),
    ]);
    expect(types).toEqual({ state: 'passed', findings: [], facts: {} });
    expect(tests).toMatchObject({ state: 'passed', findings: [], facts: { selfReported: true, skipped: 0 } });
    expect(tests.facts.passed).toBe(tests.facts.tests);
    expect(tests.facts.tests).toBeGreaterThan(2);
  });

  it('of what node new writes', async () => {
    const files = Object.fromEntries(nodeTemplate({ id: 'hello-words', title: 'Hello' }));
    expect(await checks().types(files)).toMatchObject({ state: 'passed', findings: [] });
    expect(await checks().tests(files)).toMatchObject({ state: 'passed', facts: { tests: 3, passed: 3 } });
  });
});
