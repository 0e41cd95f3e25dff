import { generateKeyPairSync, sign } from 'node:crypto';
import {
  type ArtifactParts,
  type ComposedArtifact,
  composeArtifact,
  composeSbom,
  provenanceStatement,
  releaseStatement,
  reportStatement,
  type StatementSigner,
  sbomStatement,
  sha256Of,
  signStatement,
} from '@glovebox/artifact';
import {
  type InstanceId,
  type Json,
  manifestSchema,
  newInstanceId,
  packageRevision,
  type Report,
  type Statement,
} from '@glovebox/contract';

/** A key of some instance, in memory. */
export function makeSigner(): { signer: StatementSigner; publicKeyPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyId = sha256Of(publicKey.export({ type: 'spki', format: 'der' })).slice('sha256:'.length);
  return {
    signer: { instance: newInstanceId(), keyId, sign: async (payload) => sign(null, payload, privateKey) },
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  };
}

const image = `sha256:${'7'.repeat(64)}`;

const integrityOf = (digit: string): string => `sha512-${Buffer.from(digit.repeat(128), 'hex').toString('base64')}`;

const files = new Map<string, Uint8Array>(
  Object.entries({
    'node.json': '{"schemaVersion":1}',
    'package.json': '{"name":"@acme/csv-profile"}',
    'src/index.ts': 'export default 1;\n',
    'fixtures/größe.json': '{}',
  }).map(([path, text]) => [path, Buffer.from(text)]),
);

/** The parts of a node with four dependencies: one inside another, one that no bundle needs. */
export function makeParts(over: Partial<ArtifactParts> = {}): ArtifactParts {
  const manifest = manifestSchema.parse({
    schemaVersion: 1,
    id: 'csv-profile',
    title: 'CSV profile',
    input: { type: 'object' },
    output: { type: 'object' },
    capabilities: { http: { rules: [{ host: 'api.example.com', methods: ['GET', 'HEAD'], paths: ['/v1/**'] }] } },
  });
  const content = over.files ?? files;
  return {
    manifest,
    name: '@acme/csv-profile',
    version: '1.2.3',
    license: 'MIT',
    revision: packageRevision(content),
    files: content,
    dependencies: [
      { path: 'node_modules/papaparse', name: 'papaparse', version: '5.5.3', integrity: integrityOf('a') },
      { path: 'node_modules/@acme/base', name: '@acme/base', version: '1.0.0+x', integrity: integrityOf('b') },
      {
        path: 'node_modules/@acme/base/node_modules/papaparse',
        name: 'papaparse',
        version: '4.0.0',
        integrity: integrityOf('c'),
      },
      { path: 'node_modules/unused', name: 'unused', version: '1.0.0', integrity: integrityOf('d') },
    ],
    bundle: Buffer.from('export default 1;\n'),
    sourceMap: Buffer.from('{"version":3}'),
    toolchain: ['typescript@7.0.2', 'esbuild@0.28.2', 'sdk@0.1.0', 'node@26.12.1'],
    ...over,
  };
}

const input = (...paths: string[]): Json => ({
  bytes: 1,
  imports: paths.map((path) => ({ path, kind: 'import-statement' })),
});

export const metafile: Json = {
  inputs: {
    'src/index.ts': input(
      'node_modules/papaparse/index.js',
      'node_modules/@acme/base/lib/a.js',
      '../../toolchain/sdk/index.ts',
    ),
    'node_modules/papaparse/index.js': input('<runtime>', 'node:fs'),
    'node_modules/@acme/base/lib/a.js': input(
      'node_modules/@acme/base/lib/b.js',
      'node_modules/@acme/base/node_modules/papaparse/index.js',
      'node_modules/unused/index.js',
    ),
    'node_modules/@acme/base/lib/b.js': input(),
    'node_modules/@acme/base/node_modules/papaparse/index.js': input(),
    'node_modules/unused/index.js': input(),
    '../../toolchain/sdk/index.ts': input(),
  },
  outputs: {
    'bundle.mjs.map': { imports: [], exports: [], inputs: {}, bytes: 10 },
    'bundle.mjs': {
      bytes: 10,
      inputs: {
        '../../toolchain/sdk/index.ts': { bytesInOutput: 3 },
        'node_modules/papaparse/index.js': { bytesInOutput: 3 },
        'node_modules/@acme/base/lib/a.js': { bytesInOutput: 3 },
        'node_modules/@acme/base/lib/b.js': { bytesInOutput: 3 },
        'node_modules/@acme/base/node_modules/papaparse/index.js': { bytesInOutput: 3 },
        'node_modules/unused/index.js': { bytesInOutput: 0 },
        'src/index.ts': { bytesInOutput: 3 },
      },
    },
  },
};

export function makeReport(over: Partial<Report> = {}): Report {
  return {
    schema: 'glovebox.report/1',
    project: 'default',
    id: 'csv-profile',
    version: '1.2.3',
    revision: packageRevision(files),
    valid: true,
    checks: [{ id: 'build', state: 'passed', durationMs: 12.5, cached: false, findings: 0, facts: {} }],
    findings: [],
    toolchain: ['node@26.12.1'],
    ...over,
  };
}

export type StatementName = 'provenance' | 'report' | 'sbom' | 'release';

export function makeStatements(artifact: ComposedArtifact, instance: InstanceId): Record<StatementName, Statement> {
  return {
    provenance: provenanceStatement(artifact, {
      instance,
      project: 'default',
      image,
      invocationId: 'val_1',
      startedAtMs: 1_767_323_045_678,
      finishedAtMs: 1_767_323_046_789,
      creator: 'local:uid=0',
      correlationId: 'cor_1',
    }),
    report: reportStatement(
      artifact,
      makeReport({ version: artifact.config.version, revision: artifact.config.revision }),
    ),
    sbom: sbomStatement(artifact, composeSbom(artifact.config, metafile)),
    release: releaseStatement(artifact, {
      instance,
      ref: `default/csv-profile@${artifact.config.version}`,
      image,
      permissions: artifact.config.permissionsDigest,
      publishedBy: 'local:uid=0',
      publishedAt: '2026-01-02T03:04:06.789Z',
    }),
  };
}

export async function makeArtifact(
  signer: StatementSigner,
  over: Partial<ArtifactParts> = {},
): Promise<ComposedArtifact & { attestations: string[] }> {
  const artifact = composeArtifact(makeParts(over));
  const statements = Object.values(makeStatements(artifact, signer.instance));
  const signed = await Promise.all(statements.map((statement) => signStatement(statement, signer)));
  return { ...artifact, attestations: signed.map(({ envelopeText }) => envelopeText) };
}
