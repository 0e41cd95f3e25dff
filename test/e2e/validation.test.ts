import { chmod, cp, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Json, reportSchema } from '@glovebox/contract';
import { publishRelease, putDraft, validateDraft } from '@glovebox/engine';
import { describe, expect, it } from 'vitest';
import { openTestEngine } from '../support/engine.ts';
import { useEngine } from '../support/use-engine.ts';
import { actor, filesOf, goodPackage, putFiles, told, validateFiles } from '../support/validation.ts';

const engine = useEngine();
const csvProfile = fileURLToPath(new URL('../../examples/csv-profile', import.meta.url));

const all = (state: string) =>
  Object.fromEntries(
    ['package', 'manifest', 'lockfile', 'types', 'build', 'tests', 'fixtures'].map((check) => [check, state]),
  );

/** What of a statement is under `predicate`, of each attestation of an artifact, by predicate type. */
async function statements(digest: string): Promise<Map<string, { [key: string]: Json }>> {
  const texts = await engine().engine.artifacts.attestations(digest);
  const decoded = texts.map((text) => {
    const { payload } = JSON.parse(text) as { payload: string };
    return JSON.parse(Buffer.from(payload, 'base64').toString()) as {
      predicateType: string;
      predicate: { [key: string]: Json };
    };
  });
  return new Map(decoded.map(({ predicateType, predicate }) => [predicateType, predicate]));
}

describe('an example with a dependency', () => {
  it('passes every check, each told as it starts and ends, and becomes an artifact', async () => {
    const { draft, report, artifact, states, events } = await validateFiles(engine().engine, await filesOf(csvProfile));
    // Whoever works on the example has settings for npm there, which mean nothing here.
    expect(told(report.findings)).toEqual(['package PACKAGE_INVALID .npmrc']);
    expect(states).toEqual(all('passed'));
    expect(reportSchema.parse(report)).toEqual(report);
    expect(draft).toMatchObject({ id: 'csv-profile', state: 'passed', artifact, revision: report.revision });
    expect(report.toolchain).toEqual(
      ['esbuild', 'node', 'sdk', 'typescript'].map((tool) => expect.stringMatching(`^${tool}@\\d`)),
    );
    for (const { id } of report.checks) {
      const kinds = events
        .filter((event) => (event.kind === 'started' ? event.check : event.result.id) === id)
        .map(({ kind }) => kind);
      expect(kinds, id).toEqual(['started', 'ended']);
    }

    const loaded = await engine().engine.artifacts.load(artifact ?? '');
    expect(loaded.config).toMatchObject({ id: 'csv-profile', version: '1.0.0', revision: draft.revision });
    expect(loaded.config.dependencies.map(({ name }) => name)).toEqual(['csv-parse']);
    const signed = await statements(artifact ?? '');
    expect([...signed.keys()].sort()).toEqual([
      'https://cyclonedx.org/bom',
      'https://slsa.dev/provenance/v1',
      'urn:glovebox:validation-report:1',
    ]);
    expect(signed.get('urn:glovebox:validation-report:1')).toEqual(report);
    expect(signed.get('https://slsa.dev/provenance/v1')).toMatchObject({
      runDetails: { metadata: { glovebox_creator: actor } },
    });
    expect(signed.get('https://cyclonedx.org/bom')).toMatchObject({
      components: [{ name: 'csv-parse' }, { name: '@glovebox/sdk' }],
    });
  });

  it('gives the same artifact again, from what is known, without a cell', async () => {
    const before = engine().boots.length;
    const again = await validateFiles(engine().engine, await filesOf(csvProfile));
    expect(again.states).toEqual(all('passed (cached)'));
    expect(engine().boots.length).toBe(before);
    expect(again.artifact).toBe((await engine().engine.drafts.get('default', 'csv-profile'))?.passed?.artifact);
    expect(await engine().engine.artifacts.attestations(again.artifact ?? '')).toHaveLength(3);
  });

  it('gives the same artifact in another instance, from another directory with other modes and times', async () => {
    const here = await validateFiles(engine().engine, await filesOf(csvProfile));
    const elsewhere = await mkdtemp(join(tmpdir(), 'another place é-'));
    const other = await openTestEngine();
    try {
      const dir = join(elsewhere, 'deeper', 'under another name');
      await cp(csvProfile, dir, { recursive: true });
      await writeFile(join(elsewhere, 'deeper', 'package.json'), '{ "type": "commonjs" }');
      await chmod(join(dir, 'src/index.ts'), 0o600);
      await utimes(join(dir, 'node.json'), 1, 1);
      const there = await validateFiles(other.engine, await filesOf(dir));
      expect(there.states).toEqual(all('passed'));
      expect(there.artifact).toBe(here.artifact);
    } finally {
      await other.close();
      await rm(elsewhere, { recursive: true });
    }
  });
});

describe('a change', () => {
  const fresh = { package: 'passed', manifest: 'passed', lockfile: 'passed' };
  const base = goodPackage();

  it('of nothing, of a test, of a fixture or of a source has done again what depends on it, and no more', async () => {
    const first = await validateFiles(engine().engine, base);
    expect([told(first.report.findings), first.states]).toEqual([[], all('passed')]);

    const test = `${base.get('test/add.test.ts')}\n`;
    const tested = await validateFiles(engine().engine, goodPackage({ 'test/add.test.ts': test }));
    expect(tested.states).toEqual({
      ...fresh,
      types: 'passed',
      build: 'passed (cached)',
      tests: 'passed',
      fixtures: 'passed (cached)',
    });

    const fixture = JSON.stringify({ input: { a: 2, b: 2 }, expect: { output: { sum: 4 } } });
    const fixed = await validateFiles(engine().engine, goodPackage({ 'fixtures/basic.json': fixture }));
    expect(fixed.states).toMatchObject({ ...fresh, build: 'passed (cached)', fixtures: 'passed' });

    const source = 'export const add = (a: number, b: number): number => b + a;\n';
    const changed = await validateFiles(engine().engine, goodPackage({ 'src/add.ts': source }));
    expect(changed.states).toEqual(all('passed'));
    expect(changed.artifact).not.toBe(first.artifact);

    const back = await validateFiles(engine().engine, base);
    expect([back.states, back.artifact]).toEqual([all('passed (cached)'), first.artifact]);
  });

  it('of a version that is released is refused, and the release is not validated again', async () => {
    const files = goodPackage({ 'package.json': `${base.get('package.json')}`.replace('1.0.0', '3.0.0') });
    const { draft, artifact, report } = await validateFiles(engine().engine, files);
    const { release } = await publishRelease(engine().engine, { project: 'default', id: draft.id, actor });
    expect(release).toMatchObject({ ref: 'default/adder@3.0.0', digest: artifact, revision: draft.revision });

    const again = await validateFiles(engine().engine, files);
    expect([again.draft.state, again.events, again.report, again.artifact]).toEqual(['released', [], report, artifact]);
    const other = new Map([...files, ['README.md', Buffer.from('new')]]);
    await expect(putFiles(engine().engine, other)).rejects.toMatchObject({ code: 'VERSION_EXISTS' });
    expect((await engine().engine.drafts.get('default', 'adder'))?.draft).toMatchObject({ state: 'released' });
  });

  it('of the draft while it waits makes a request for the earlier revision stale', async () => {
    const files = goodPackage({ 'package.json': `${base.get('package.json')}`.replace('1.0.0', '4.0.0') });
    const { revision, project, id } = await putFiles(engine().engine, files);
    await putFiles(engine().engine, new Map([...files, ['README.md', Buffer.from('later')]]));
    const request = { project, id, revision, actor };
    await expect(validateDraft(engine().engine, request)).rejects.toMatchObject({ code: 'DRAFT_STALE' });
    await expect(validateDraft(engine().engine, { project, id: 'nowhere', actor })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });
});

describe('packages for development', () => {
  const devDependencies = { '@types/ws': '8.18.1', esbuild: '0.25.0', ms: '2.1.3' };
  const files = (test: string) =>
    goodPackage({
      'package.json': JSON.stringify({
        name: 'adder',
        version: '5.0.0',
        license: 'MIT',
        type: 'module',
        devDependencies,
      }),
      'package-lock.json': JSON.stringify({
        lockfileVersion: 3,
        packages: {
          '': { devDependencies },
          'node_modules/@types/node': { version: '26.6.7', dev: true },
          'node_modules/@types/ws': {
            version: '8.18.1',
            integrity:
              'sha512-ThVF6DCVhA8kUGy+aazFQ4kXQ7E1Ty7A3ypFOe0IcJV8O/M511G99AW24irKrW56Wt44yG9+ij8FaqoBGkuBXg==',
            dev: true,
            dependencies: { '@types/node': '*' },
          },
          'node_modules/esbuild': {
            version: '0.25.0',
            integrity:
              'sha512-BXq5mqc8ltbaN34cDqWuYKyNhX8D/Z0J1xdtdQ8UcIIIyJyz+ZMKUt58tF3SrZ85jcfN/PZYhjR5uDQAYNVbuw==',
            dev: true,
            hasInstallScript: true,
          },
          'node_modules/ms': {
            version: '2.1.3',
            integrity:
              'sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==',
            dev: true,
          },
        },
      }),
      'test/add.test.ts': test,
    });

  it('are there for types and tests, and no part of the artifact; one with an install script is never fetched', async () => {
    const test = [
      "import assert from 'node:assert/strict';",
      "import { test } from 'node:test';",
      "import type { WebSocket } from 'ws';",
      '// @ts-expect-error: it has no types',
      "import ms from 'ms';",
      "test('has it', () => {",
      "  assert.equal(ms('1 day'), 86_400_000);",
      '  const socket: WebSocket | undefined = undefined;',
      '  assert.equal(socket, undefined);',
      '});',
    ].join('\n');
    const { report, states, artifact } = await validateFiles(engine().engine, files(test));
    // The bundle is the one of before, and so are the fixtures.
    expect(states).toEqual({ ...all('passed'), fixtures: 'passed (cached)' });
    expect(report.findings).toMatchObject([
      { check: 'lockfile', severity: 'notice', message: expect.stringContaining('esbuild has an install script') },
    ]);
    expect(report.checks.find(({ id }) => id === 'lockfile')?.facts).toEqual({ packages: 0, devPackages: 2 });
    expect((await engine().engine.artifacts.load(artifact ?? '')).config.dependencies).toEqual([]);
  });

  it('cannot be imported by what is bundled', async () => {
    const { states, report } = await validateFiles(
      engine().engine,
      new Map([
        ...files(''),
        [
          'src/add.ts',
          Buffer.from(
            "// @ts-expect-error\nimport ms from 'ms';\nexport const add = (a: number, b: number): number => ms(String(a + b));\n",
          ),
        ],
      ]),
    );
    expect(states).toMatchObject({ types: 'passed', build: 'failed' });
    expect(told(report.findings).filter((finding) => finding.startsWith('build'))).toEqual([
      'build BUILD_FAILED src/add.ts:2',
    ]);
  });
});

describe('the same package in two projects', () => {
  it('passes in each, from what is known in the second, and is published in each', async () => {
    const bare = JSON.stringify({ name: 'adder', version: '2.0.0', license: 'Apache-2.0', type: 'module' });
    const files = goodPackage({ 'package.json': bare });
    const digests = new Set<string>();
    for (const project of ['left', 'right']) {
      const { draft } = await putDraft(engine().engine, { project, actor, files });
      const { report } = await validateDraft(engine().engine, { project, id: draft.id, actor });
      expect([report.valid, report.checks.every(({ cached }) => cached)]).toEqual([true, project === 'right']);
      digests.add((await publishRelease(engine().engine, { project, id: draft.id, actor })).release.digest);
    }
    expect(digests.size).toBe(1);
  });
});
