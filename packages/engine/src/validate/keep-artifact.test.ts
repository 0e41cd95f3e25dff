import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkAttestations, pinKeys } from '@glovebox/artifact';
import { type Digest, GloveboxError, type Json, type Report } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeParts, makeReport, metafile } from '../../../../test/support/artifact.ts';
import { type ArtifactSigner, openArtifactSigner } from '../../../../test/support/artifact-signer.ts';
import { loadTrusted } from '../releases/trusted-artifact.ts';
import { keepArtifact, type PassedChecks } from './keep-artifact.ts';

let engine: ArtifactSigner;
beforeEach(() => {
  engine = openArtifactSigner();
});
afterEach(() => engine.remove());

let validations = 0;
interface Over {
  project?: string;
  image?: string;
  report?: Partial<Report>;
  dependencies?: PassedChecks['pkg']['dependencies'];
  metafile?: Json;
  publishedAtMs?: PassedChecks['publishedAtMs'];
}

/** A validation of its own each time, which passes; of the same package unless told otherwise. */
function passed({ project = 'default', image = '7', report = {}, ...over }: Over = {}): PassedChecks {
  const parts = makeParts(over.dependencies === undefined ? {} : { dependencies: over.dependencies });
  const n = ++validations;
  return {
    pkg: parts as unknown as PassedChecks['pkg'],
    built: {
      bundle: parts.bundle,
      sourceMap: parts.sourceMap,
      metafile: over.metafile ?? metafile,
      warnings: [],
      bundleDigest: '',
    },
    publishedAtMs: over.publishedAtMs ?? new Map(),
    project,
    report: makeReport({ project, toolchain: [...parts.toolchain], ...report }),
    image: `sha256:${image.repeat(64)}` as Digest,
    actor: `who ${n}`,
    invocation: `val_${n}`,
    correlation: `cor_${n}`,
    startedAtMs: n,
  };
}

/** What the artifact has statements of, as a reader who knows all keys sees it. */
async function stated(digest: string): Promise<string[]> {
  const { config } = await engine.artifacts.load(digest);
  const envelopes = (await engine.artifacts.attestations(digest)).map((text) => Buffer.from(text));
  const checked = checkAttestations({ digest, config }, envelopes, pinKeys({ keys: engine.keys }));
  if (!checked.ok) throw GloveboxError.fromData(checked.error);
  return checked.attestations.map(({ kind }) => kind).sort();
}

const checks = (cached: boolean, durationMs: number): Report['checks'] => [
  { id: 'build', state: 'passed', durationMs, cached, findings: 0, facts: { bundleBytes: 7 } },
];

describe('the artifact of a validation that passed', () => {
  it('gets provenance, report and SBOM once, however often the same is found', async () => {
    const { artifact } = await keepArtifact(engine, passed());
    expect(await stated(artifact)).toEqual(['provenance', 'report', 'sbom']);
    const written = statSync(join(engine.dir, 'index.json')).mtimeMs;
    for (const report of [{ checks: checks(false, 1) }, { checks: checks(false, 9) }, { checks: checks(true, 0) }])
      expect(await keepArtifact(engine, passed({ report }))).toMatchObject({ artifact });
    // The report of other facts is another one, once.
    expect(await stated(artifact)).toEqual(['provenance', 'report', 'report', 'sbom']);
    expect(statSync(join(engine.dir, 'index.json')).mtimeMs).toBeGreaterThan(written);
  });

  it('gets them of each project that it passes in, where all verdicts were known too', async () => {
    const { artifact } = await keepArtifact(engine, passed({ project: 'left', report: { checks: checks(false, 5) } }));
    const claim = { ...makeParts(), ...makeParts().manifest, revision: makeReport().revision, artifact };
    const trusted = async (project: string) => {
      const { config } = await engine.artifacts.load(artifact);
      return loadTrusted(engine, { ...claim, project, permissions: config.permissionsDigest });
    };
    await expect(trusted('left')).resolves.toMatchObject({ digest: artifact });
    await expect(trusted('right')).rejects.toMatchObject({ code: 'ARTIFACT_UNSIGNED' });
    await keepArtifact(engine, passed({ project: 'right', report: { checks: checks(true, 0) } }));
    await expect(trusted('right')).resolves.toMatchObject({ digest: artifact });
    expect(await stated(artifact)).toEqual(['provenance', 'provenance', 'report', 'report', 'sbom']);
  });

  it('gets a provenance of each image that its fixtures ran in', async () => {
    const { artifact } = await keepArtifact(engine, passed());
    await keepArtifact(engine, passed({ image: '8' }));
    await keepArtifact(engine, passed({ image: '8' }));
    expect(await stated(artifact)).toEqual(['provenance', 'provenance', 'report', 'sbom']);
  });

  it('gets a provenance with the publish times of its packages where they were asked for, and no other digest', async () => {
    const unasked = await keepArtifact(engine, passed());
    const [{ path } = { path: '' }] = makeParts().dependencies;
    const publishedAtMs = new Map([[path, Date.UTC(2026, 0, 2, 3, 4, 5)]]);
    for (let n = 0; n < 2; n++) expect(await keepArtifact(engine, passed({ publishedAtMs }))).toEqual(unasked);
    expect(await stated(unasked.artifact)).toEqual(['provenance', 'provenance', 'report', 'sbom']);
    const texts = await engine.artifacts.attestations(unasked.artifact);
    const statements = texts.map((text) => Buffer.from(JSON.parse(text).payload, 'base64').toString());
    expect(
      statements.filter((text) => text.includes('"annotations":{"publishedOn":"2026-01-02T03:04:05.000Z"}')),
    ).toHaveLength(1);
  });

  it('gets all of them anew by a new key, so that the old one is needed no more', async () => {
    const { artifact } = await keepArtifact(engine, passed({ report: { checks: checks(true, 0) } }));
    engine = engine.rotated();
    for (let n = 0; n < 2; n++) await keepArtifact(engine, passed({ report: { checks: checks(true, 0) } }));
    expect(await stated(artifact)).toHaveLength(6);
    const { config } = await engine.artifacts.load(artifact);
    const envelopes = (await engine.artifacts.attestations(artifact)).map((text) => Buffer.from(text));
    const [current = '', ...retired] = engine.keys;
    const checked = checkAttestations({ digest: artifact, config }, envelopes, pinKeys({ keys: [current], retired }));
    expect(checked).toMatchObject({ ok: true, attestations: { length: 3 } });
  });

  it('is written again where it is damaged', async () => {
    const { artifact } = await keepArtifact(engine, passed());
    const { bundle } = await engine.artifacts.load(artifact);
    const blobs = join(engine.dir, 'blobs', 'sha256');
    const lost = readdirSync(blobs).filter((name) => statSync(join(blobs, name)).size === bundle.byteLength);
    for (const name of lost) rmSync(join(blobs, name));
    await expect(engine.artifacts.load(artifact)).rejects.toMatchObject({ code: 'ARTIFACT_CORRUPTED' });
    await keepArtifact(engine, passed());
    await expect(engine.artifacts.load(artifact)).resolves.toMatchObject({ digest: artifact });
  });

  it('is told to be too much, and not kept, where its parts do not fit into an attestation', async () => {
    const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`;
    const dependencies = Array.from({ length: 500 }, (_, n) => {
      const name = `some-package-${n}`;
      return { path: `node_modules/${name}`, name, version: '1.0.0', integrity, use: 'node' as const };
    });
    const inputs = dependencies.map(({ path }) => `${path}/i.js`);
    const importing = (among: string[]): Json => ({
      inputs: Object.fromEntries(
        inputs.map((input) => [input, { imports: among.map((path) => ({ path, kind: 'import-statement' })) }]),
      ),
      outputs: { 'bundle.mjs': { inputs: Object.fromEntries(inputs.map((input) => [input, { bytesInOutput: 1 }])) } },
    });
    const dense = keepArtifact(engine, passed({ dependencies, metafile: importing(inputs) }));
    await expect(dense).rejects.toMatchObject({
      code: 'ATTESTATIONS_LIMIT',
      message: expect.stringContaining('SBOM'),
    });
    expect(existsSync(engine.dir)).toBe(false);
    const { artifact } = await keepArtifact(engine, passed({ dependencies, metafile: importing(inputs.slice(0, 9)) }));
    expect(await stated(artifact)).toEqual(['provenance', 'report', 'sbom']);
  });
});
