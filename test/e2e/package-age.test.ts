import { GloveboxError } from '@glovebox/contract';
import type { Engine } from '@glovebox/engine';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { lineOf, lockedProject, type Project } from '../support/locked-packages.ts';
import { errorsIn, passed, refused } from '../support/refused-packages.ts';
import { openRegistry, type Registry } from '../support/registry.ts';
import { useEngine } from '../support/use-engine.ts';
import { validateFiles } from '../support/validation.ts';

vi.setConfig({ testTimeout: 120_000 });

const engine = useEngine();
let registry: Registry;
let host: Engine;
/** The same host, which demands an age. */
let strict: Engine;
beforeAll(async () => {
  registry = await openRegistry();
  host = { ...engine().engine, packages: registry.source() };
  strict = { ...host, packagePolicy: { minimumAgeMs: 7 * 24 * 3_600_000 } };
});
afterAll(() => registry.close());

/** A node that imports a package of that name, of which no validation has heard. */
const using = (name: string): Project => ({
  packages: {
    [`node_modules/${name}`]: {
      files: {
        'index.js': 'export const add = (a, b) => a + b;\n',
        'index.d.ts': 'export declare const add: (a: number, b: number) => number;\n',
      },
    },
  },
  files: { 'src/add.ts': `export { add } from '${name}';\n` },
});
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

it.each([
  ['has had for two hours', 'fresh', () => ({ '1.0.0': hoursAgo(2) }), '2 h'],
  ['does not tell how long it has had', 'untold', () => ({}), 'does not tell'],
])(
  'a version that the registry %s is a finding at its entry, and nothing is fetched, booted or released',
  async (_, name, times, says) => {
    const { files, lockText } = lockedProject(registry, using(name));
    registry.tellTimes(name, times());
    const before = [registry.requests.length, engine().boots.length] as const;
    const { findings, states } = await refused(strict, files);
    expect(errorsIn(findings)).toEqual([
      `lockfile DEPENDENCY_TOO_FRESH package-lock.json:${lineOf(lockText, `"node_modules/${name}"`)}`,
    ]);
    expect(findings[0]?.message).toContain(says);
    expect(states).toMatchObject({ lockfile: 'failed', types: 'skipped', fixtures: 'skipped' });
    expect(registry.requests.slice(before[0])).toEqual([`/${name}`]);
    expect(engine().boots).toHaveLength(before[1]);
  },
);

it('a version that the registry has had for thirty days passes, and then without a request', async () => {
  const { files } = lockedProject(registry, using('settled'));
  const published = hoursAgo(30 * 24);
  registry.tellTimes('settled', { '1.0.0': published });
  const { artifact } = await passed(strict, files);
  const envelopes = await host.artifacts.attestations(artifact);
  const provenance = envelopes
    .map((text) => JSON.parse(Buffer.from(JSON.parse(text).payload, 'base64').toString()))
    .find(({ predicateType }) => predicateType.includes('provenance'));
  expect(provenance.predicate.buildDefinition.resolvedDependencies).toMatchObject([
    { name: 'node_modules/settled', annotations: { publishedOn: published } },
  ]);
  expect(await host.artifacts.load(artifact)).toMatchObject({ digest: artifact });
  const before = registry.requests.length;
  await passed(strict, files);
  expect(registry.requests).toHaveLength(before);
});

it('a version is looked at anew where an age is demanded after it has passed without, whatever is remembered', async () => {
  const { files } = lockedProject(registry, using('sudden'));
  registry.tellTimes('sudden', { '1.0.0': hoursAgo(2) });
  const before = registry.requests.length;
  const { artifact } = await passed(host, files);
  expect(registry.requests.slice(before)).toEqual(['/sudden/1.0.0', '/sudden/-/sudden-1.0.0.tgz']);
  expect((await refused(strict, files)).findings[0]?.rule).toBe('DEPENDENCY_TOO_FRESH');
  // A week later, by the clock of the engine, the same one has the age; the artifact is the same.
  const later: Engine = { ...strict, now: () => Date.now() + 7 * 24 * 3_600_000 };
  expect((await passed(later, files)).artifact).toBe(artifact);
  expect((await refused(strict, files)).findings[0]?.rule).toBe('DEPENDENCY_TOO_FRESH');
});

it('no verdict comes of a registry that does not answer', async () => {
  const { files } = lockedProject(registry, using('mute'));
  const publishedAt = () => Promise.reject(new GloveboxError('REGISTRY_UNAVAILABLE'));
  const { draft, states } = await validateFiles({ ...strict, packages: { ...strict.packages, publishedAt } }, files);
  expect([draft.state, states.lockfile, states.types]).toEqual(['draft', 'unavailable', 'skipped']);
});
