import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import {
  composeArtifact,
  composeSbom,
  permissionsDigest,
  provenanceStatement,
  reportStatement,
  sbomStatement,
  signStatement,
} from '@glovebox/artifact';
import type { Report, Statement } from '@glovebox/contract';
import {
  buildNode,
  type Engine,
  ownIdentity,
  type PassedValidation,
  publishRelease,
  type ReleaseRunRequest,
  type ReleaseRunResult,
  runRelease,
} from '@glovebox/engine';
import { readNodePackage } from '@glovebox/validate';
import { type NodeSource, writeNode } from './node-package.ts';

export const author = 'local:uid=0';

export interface PassOptions {
  project?: string;
  version?: string;
  /** What it is made by, as text: part of the artifact's digest. */
  toolchain?: string[];
}

export interface PassedDraft extends PassedValidation {
  project: string;
  id: string;
  version: string;
  revision: string;
}

let drafts = 0;

/**
 * Let a draft of this source pass: its bundle is made in a builder cell, its artifact and attestations are what a
 * validation leaves, and no check is made.
 */
export async function passDraft(
  { engine, dataDir }: { engine: Engine; dataDir: string },
  source: NodeSource,
  { project = 'default', version = '1.0.0', toolchain = ['node@test'] }: PassOptions = {},
): Promise<PassedDraft> {
  const id = source.id ?? 'test-node';
  const packageJson = JSON.stringify({ name: id, version, license: 'Apache-2.0', type: 'module' });
  const dir = await writeNode(join(dataDir, '..', `draft-${drafts++}`), {
    ...source,
    files: { 'package.json': packageJson, ...source.files },
  });
  const read = await readNodePackage(dir, { registries: engine.packages.registries() });
  if (!read.ok) throw new Error(read.findings.map(({ message }) => message).join('\n'));
  const { pkg } = read;
  const { revision } = pkg;
  const startedAtMs = engine.now();
  const validation = randomUUID();
  const subject = `${project}/${id}@${version}`;
  const event = { atMs: startedAtMs, actor: author, project, subject, details: { revision } };
  await engine.drafts.put(
    { project, id, revision, version, title: pkg.manifest.title, snapshot: revision },
    { ...event, action: 'draft.put' },
  );
  const owner = ownIdentity(engine.signer.instance);
  const begin = { project, id, revision, validation, owner, atMs: startedAtMs };
  const begun = await engine.drafts.beginValidation(begin, { ...event, action: 'draft.validation-began' });
  if (begun !== 'begun') throw new Error(`the validation did not begin: ${begun}`);
  const { bundle, sourceMap } = await buildNode(engine, pkg);
  const report: Report = {
    schema: 'glovebox.report/1',
    project,
    id,
    version,
    revision,
    valid: true,
    checks: [],
    findings: [],
    toolchain,
  };
  const artifact = composeArtifact({ ...pkg, bundle, sourceMap, toolchain });
  const image = (await engine.images.current('runtime')).digest;
  const circumstances = {
    instance: engine.signer.instance,
    project,
    image,
    invocationId: validation,
    startedAtMs,
    finishedAtMs: engine.now(),
    creator: author,
    correlationId: validation,
  };
  const statements = [
    provenanceStatement(artifact, circumstances),
    reportStatement(artifact, report),
    // As of a bundle without dependencies.
    sbomStatement(artifact, composeSbom(artifact.config, { inputs: {}, outputs: {} })),
  ];
  const attestations = await Promise.all(statements.map((statement) => envelopeOf(engine, statement)));
  await engine.artifacts.put({ ...artifact, attestations });
  const result = { artifact: artifact.digest, image, permissions: permissionsDigest(pkg.manifest) };
  await engine.drafts.endValidation(
    { validation, atMs: engine.now(), report, result },
    { ...event, action: 'draft.validation-ended' },
  );
  return { project, id, version, revision, ...result };
}

export async function envelopeOf({ signer }: Pick<Engine, 'signer'>, statement: Statement): Promise<string> {
  return (await signStatement(statement, signer)).envelopeText;
}

/** Let a draft pass and publish it. */
export async function release(
  cells: { engine: Engine; dataDir: string },
  source: NodeSource,
  options: PassOptions = {},
): Promise<Awaited<ReturnType<typeof publishRelease>>['release']> {
  const { project, id } = await passDraft(cells, source, options);
  return (await publishRelease(cells.engine, { project, id, actor: author })).release;
}

/** Run a release with `{}` as input and config, or others. */
export function runReference(
  engine: Engine,
  reference: string,
  request: Partial<ReleaseRunRequest> = {},
): Promise<ReleaseRunResult> {
  return runRelease(engine, {
    project: 'default',
    actor: 'local:uid=0',
    reference,
    inputText: '{}',
    configText: '{}',
    ...request,
  });
}
