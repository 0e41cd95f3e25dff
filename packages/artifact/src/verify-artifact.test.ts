import { execFileSync } from 'node:child_process';
import { sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Json, predicateTypes, statementMediaType } from '@glovebox/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  makeArtifact,
  makeParts,
  makeReport,
  makeStatements,
  type StatementName,
} from '../../../test/support/artifact.ts';
import { pax, tar } from '../../../test/support/tar-writer.ts';
import { blobPath, type LayoutFiles, makeLayout, readerOf, writeLayout } from '../test/support/layout.ts';
import { digestOf, makeKey, type TestKey } from '../test/support/predicate.ts';
import { canonicalJson } from './canonical.ts';
import { encodeEnvelope, signedBytes } from './envelope.ts';
import { composeArtifact, openLayout, reportStatement, type TrustedKeys, verifyArtifact } from './index.ts';

const key = makeKey();
const other = makeKey();
const keys = [key.publicKeyPem];
let artifact: Awaited<ReturnType<typeof makeArtifact>>;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-verify-'));
  artifact = await makeArtifact(key.signer);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const check = async (files: LayoutFiles, trusted: TrustedKeys & { digest?: string } = { keys }): Promise<string> => {
  const result = await verifyArtifact(readerOf(files), trusted);
  return result.ok ? 'ok' : result.error.code;
};
const with_ = (attestations: readonly string[]): LayoutFiles => makeLayout({ ...artifact, attestations });

/** An envelope with a good signature over any payload. */
function signed(payload: string | object, by: TestKey = key, payloadType: string = statementMediaType): string {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : canonicalJson(payload));
  const sig = sign(null, signedBytes(payloadType, bytes), by.privateKey);
  return canonicalJson(encodeEnvelope(payloadType as typeof statementMediaType, bytes, [{ keyId: by.keyId, sig }]));
}

type Statements = ReturnType<typeof makeStatements>;
/** All attestations, signed, with one changed before. */
function changed(
  name: StatementName,
  change: (statement: Statements[StatementName]) => unknown,
  by = key,
): LayoutFiles {
  const statements = makeStatements(artifact, key.signer.instance);
  return with_(
    (Object.keys(statements) as StatementName[]).map((each) => {
      const statement = structuredClone(statements[each]);
      if (each !== name) return signed(statement);
      return signed((change(statement) ?? statement) as object, by);
    }),
  );
}

describe('an artifact in a layout', () => {
  it('verifies with the public key alone, and tells what was attested', async () => {
    const result = await verifyArtifact(readerOf(makeLayout(artifact)), { keys });
    expect(result).toMatchObject({
      ok: true,
      digest: artifact.digest,
      config: { id: 'csv-profile' },
      attestations: [
        {
          kind: 'provenance',
          keyId: key.keyId,
          predicate: { runDetails: { metadata: { glovebox_creator: 'local:uid=0' } } },
        },
        { kind: 'report', keyId: key.keyId, predicate: { valid: true } },
        { kind: 'sbom', keyId: key.keyId, predicate: { bomFormat: 'CycloneDX' } },
        { kind: 'release', keyId: key.keyId, predicate: { ref: 'default/csv-profile@1.2.3' } },
      ],
    });
  });

  it('verifies before it is released, and under the digest that is asked for', async () => {
    expect(await check(with_(artifact.attestations.slice(0, 3)))).toBe('ok');
    expect(await check(makeLayout(artifact), { keys, digest: artifact.digest })).toBe('ok');
    expect(await check(makeLayout(artifact), { keys, digest: digestOf('1') })).toBe('NOT_FOUND');
  });

  it('verifies from a directory and from a tar of it, however that was made', async () => {
    const dir = join(home, 'layout');
    writeLayout(dir, makeLayout(artifact));
    const forms = { gnu: ['--format=gnu'], ustar: ['--format=ustar'], pax: ['--format=pax'], dot: [] };
    for (const [form, flags] of Object.entries(forms)) {
      const names = form === 'dot' ? ['.'] : ['oci-layout', 'index.json', 'blobs'];
      execFileSync('tar', ['-C', dir, ...flags, '-cf', join(home, `${form}.tar`), ...names]);
    }
    for (const path of [dir, ...Object.keys(forms).map((form) => join(home, `${form}.tar`))]) {
      const layout = await openLayout(path);
      expect(await verifyArtifact(layout, { keys })).toMatchObject({ ok: true, digest: artifact.digest });
      await layout.close();
    }
  });

  it('fails when a byte of any of its files is changed, and when one is missing', async () => {
    const codes = new Map<string, number>();
    for (const path of makeLayout(artifact).keys()) {
      const isBlob = path.startsWith('blobs/');
      // An empty config is named by its digest, but nothing depends on it.
      if (makeLayout(artifact).get(path)?.equals(Buffer.from('{}'))) continue;
      for (const spoil of [
        (bytes: Buffer) =>
          Buffer.concat([
            bytes.subarray(0, bytes.length >> 1),
            Buffer.from([(bytes[bytes.length >> 1] ?? 0) ^ 1]),
            bytes.subarray((bytes.length >> 1) + 1),
          ]),
        () => undefined,
      ]) {
        const files = makeLayout(artifact);
        const spoilt = spoil(files.get(path) as Buffer);
        if (spoilt === undefined) files.delete(path);
        else files.set(path, spoilt);
        const code = await check(files);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if (isBlob) expect({ path, code }).toEqual({ path, code: 'ARTIFACT_CORRUPTED' });
        else expect(code).not.toBe('ok');
      }
    }
    expect(codes.get('ARTIFACT_CORRUPTED')).toBeGreaterThan(25);
  });

  it('cannot be read from what is no layout with an artifact', async () => {
    const without = (path: string): LayoutFiles => {
      const files = makeLayout(artifact);
      files.delete(path);
      return files;
    };
    const put = (path: string, text: string): LayoutFiles => makeLayout(artifact).set(path, Buffer.from(text));
    for (const files of [
      new Map(),
      without('oci-layout'),
      without('index.json'),
      put('oci-layout', '{"imageLayoutVersion":"2.0.0"}'),
      put('oci-layout', 'null'),
      put('index.json', '{'),
      put('index.json', '{"schemaVersion":2,"manifests":[]}'),
      put('index.json', `{"schemaVersion":2,"manifests":[{"mediaType":"x/y","digest":"../../etc/passwd","size":1}]}`),
    ]) {
      expect(await check(files)).toBe('ARTIFACT_UNREADABLE');
    }
  });

  it('has to be named where the layout holds two', async () => {
    const second = await makeArtifact(key.signer, { version: '1.2.4' });
    const files = makeLayout(artifact);
    for (const [path, bytes] of makeLayout({ ...second, attestations: [] }))
      if (!files.has(path)) files.set(path, bytes);
    const manifests = [artifact, second].flatMap(
      (each) => JSON.parse(String(makeLayout(each).get('index.json'))).manifests,
    );
    files.set('index.json', Buffer.from(JSON.stringify({ schemaVersion: 2, manifests })));
    expect(await check(files)).toBe('ARTIFACT_UNREADABLE');
    expect(await check(files, { keys, digest: artifact.digest })).toBe('ok');
  });
});

describe('attestations', () => {
  it('must be there, each that is required', async () => {
    expect(await check(with_([]))).toBe('ARTIFACT_UNSIGNED');
    for (const left of [0, 1, 2]) {
      expect(await check(with_(artifact.attestations.filter((_, i) => i !== left)))).toBe('ARTIFACT_UNSIGNED');
    }
  });

  it('must be by a pinned key, and a retired one is told as such', async () => {
    expect(await check(makeLayout(artifact), { keys: [] })).toBe('ATTESTATION_KEY_UNKNOWN');
    expect(await check(makeLayout(artifact), { keys: [other.publicKeyPem] })).toBe('ATTESTATION_KEY_UNKNOWN');
    expect(await check(makeLayout(artifact), { keys: [other.publicKeyPem], retired: keys })).toBe('KEY_RETIRED');
    expect(await check(makeLayout(artifact), { keys, retired: keys })).toBe('ok');
    expect(await check(makeLayout(artifact), { keys: ['x'] })).toBe('KEY_UNUSABLE');
  });

  it('by a retired key do no harm beside those of the current one', async () => {
    const { attestations } = await makeArtifact(other.signer);
    const both = with_([...artifact.attestations, ...attestations]);
    expect(await check(both, { keys: [other.publicKeyPem], retired: keys })).toBe('ok');
    const partly = with_([...artifact.attestations, ...attestations.slice(1)]);
    expect(await check(partly, { keys: [other.publicKeyPem], retired: keys })).toBe('KEY_RETIRED');
  });

  it('by an unknown key fail all of them', async () => {
    expect(
      await check(
        with_([...artifact.attestations, signed(makeStatements(artifact, key.signer.instance).report, other)]),
      ),
    ).toBe('ATTESTATION_KEY_UNKNOWN');
  });

  it('must carry a signature that holds, also of a retired key', async () => {
    const forged = artifact.attestations.map((text) => {
      const envelope = JSON.parse(text);
      return canonicalJson({ ...envelope, payload: Buffer.from('{}').toString('base64') });
    });
    expect(await check(with_(forged))).toBe('ATTESTATION_SIGNATURE');
    expect(await check(with_(forged), { keys: [other.publicKeyPem], retired: keys })).toBe('ATTESTATION_SIGNATURE');
    const posing = artifact.attestations.map((text) => text.replaceAll(key.keyId, other.keyId));
    expect(await check(with_(posing), { keys: [other.publicKeyPem] })).toBe('ATTESTATION_SIGNATURE');
  });

  it.each<[string, () => string]>([
    ['that are no envelope', () => 'hello'],
    ['of another payload type', () => signed(makeStatements(artifact, key.signer.instance).report, key, 'text/plain')],
    ['that are not canonical', () => signed(`${canonicalJson(makeStatements(artifact, key.signer.instance).report)} `)],
    [
      'that nest deep',
      () =>
        signed({
          ...makeStatements(artifact, key.signer.instance).report,
          predicate: JSON.parse('['.repeat(2000) + ']'.repeat(2000)),
        }),
    ],
    ['that nest without end', () => signed('['.repeat(50_000) + ']'.repeat(50_000))],
    [
      'of an unknown type',
      () => signed({ ...makeStatements(artifact, key.signer.instance).report, predicateType: 'urn:glovebox:other:1' }),
    ],
    ['with a field more', () => signed({ ...makeStatements(artifact, key.signer.instance).report, extra: 1 })],
    [
      'with two subjects',
      () => {
        const { report } = makeStatements(artifact, key.signer.instance);
        return signed({ ...report, subject: [...report.subject, ...report.subject] });
      },
    ],
  ])('fail all of them %s', async (_what, make) => {
    expect(await check(with_([...artifact.attestations, make()]))).toBe('ATTESTATION_INVALID');
  });

  type Edit = (predicate: never) => unknown;
  it.each<[string, StatementName, Edit]>([
    [
      'a report that failed',
      'report',
      (p: { valid: boolean }) => {
        p.valid = false;
      },
    ],
    [
      'a report of another revision',
      'report',
      (p: { revision: string }) => {
        p.revision = digestOf('1');
      },
    ],
    [
      'a report of another version',
      'report',
      (p: { version: string }) => {
        p.version = '9.9.9';
      },
    ],
    [
      'a report with a field missing',
      'report',
      (p: { checks?: Json }) => {
        delete p.checks;
      },
    ],
    [
      'a provenance of another revision',
      'provenance',
      (p: { buildDefinition: { externalParameters: { revision: string } } }) => {
        p.buildDefinition.externalParameters.revision = digestOf('1');
      },
    ],
    [
      'a provenance with another toolchain',
      'provenance',
      (p: { buildDefinition: { internalParameters: { toolchain: string[] } } }) => {
        p.buildDefinition.internalParameters.toolchain = [];
      },
    ],
    [
      'a provenance without a dependency',
      'provenance',
      (p: { buildDefinition: { resolvedDependencies: Json[] } }) => {
        p.buildDefinition.resolvedDependencies.pop();
      },
    ],
    [
      'a provenance without its creator',
      'provenance',
      (p: { runDetails: { metadata: { glovebox_creator?: string } } }) => {
        delete p.runDetails.metadata.glovebox_creator;
      },
    ],
    [
      'an SBOM with a package that is not locked',
      'sbom',
      (p: { components: { 'bom-ref': string }[] }) => {
        (p.components[0] as { 'bom-ref': string })['bom-ref'] = 'node_modules/other';
      },
    ],
    [
      'an SBOM with another hash',
      'sbom',
      (p: { components: { hashes: { content: string }[] }[] }) => {
        (p.components[0]?.hashes[0] as { content: string }).content = '0'.repeat(128);
      },
    ],
    [
      'an SBOM of another package',
      'sbom',
      (p: { metadata: { component: { 'bom-ref': string } } }) => {
        p.metadata.component['bom-ref'] = 'pkg:npm/other@1.0.0';
      },
    ],
    [
      'a release of another digest',
      'release',
      (p: { digest: string }) => {
        p.digest = digestOf('1');
      },
    ],
    [
      'a release with other permissions',
      'release',
      (p: { permissions: string }) => {
        p.permissions = digestOf('1');
      },
    ],
    [
      'a release as another version',
      'release',
      (p: { ref: string }) => {
        p.ref = 'default/csv-profile@9.9.9';
      },
    ],
  ])('may not contradict the artifact: %s', async (_what, name, edit) => {
    const files = changed(name, (statement) => void (edit as (predicate: unknown) => void)(statement.predicate));
    expect(await check(files)).toBe('ATTESTATION_INVALID');
    expect(await check(changed(name, () => undefined))).toBe('ok');
  });

  it('may not be those of another artifact', async () => {
    const second = composeArtifact(makeParts({ bundle: Buffer.from('other') }));
    const report = signed(reportStatement(second, makeReport()));
    expect(await check(with_([...artifact.attestations.filter((_, i) => i !== 1), report]))).toBe(
      'ATTESTATION_INVALID',
    );
    expect(report).toContain('payload');
  });

  it('that belong to another artifact are not taken for this one’s, and those of other tools are passed over', async () => {
    const files = makeLayout(artifact);
    const second = await makeArtifact(other.signer, { version: '1.2.4' });
    for (const [path, bytes] of makeLayout(second)) if (path.startsWith('blobs/')) files.set(path, bytes);
    const listed = JSON.parse(String(makeLayout(second).get('index.json'))).manifests.slice(1);
    const index = JSON.parse(String(files.get('index.json')));
    const foreign = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: index.manifests[0].mediaType,
        artifactType: 'application/x',
        config: index.manifests[0],
        layers: [],
        subject: index.manifests[0],
      }),
    );
    const { createHash } = await import('node:crypto');
    const digest = `sha256:${createHash('sha256').update(foreign).digest('hex')}`;
    files.set(blobPath(digest), foreign);
    index.manifests.push(...listed, { mediaType: index.manifests[0].mediaType, digest, size: foreign.length });
    files.set('index.json', Buffer.from(JSON.stringify(index)));
    expect(await check(files)).toBe('ok');
  });

  it('shows nothing of what no pinned key has signed', async () => {
    const payload = { ...makeStatements(artifact, key.signer.instance).report, predicateType: 'CANARY' };
    const result = await verifyArtifact(
      readerOf(with_([signed(payload, other).replace(other.keyId, 'CANARY\\u001b')])),
      { keys },
    );
    expect(result).toMatchObject({ ok: false, error: { code: 'ATTESTATION_KEY_UNKNOWN' } });
    expect(JSON.stringify(result)).not.toContain('CANARY');
  });

  it('have the predicate types that others know', () => {
    expect(predicateTypes).toMatchObject({
      provenance: 'https://slsa.dev/provenance/v1',
      sbom: 'https://cyclonedx.org/bom',
    });
  });
});

describe('a layout on disk', () => {
  const open = (path: string): Promise<string> =>
    openLayout(path).then(
      async (layout) => {
        const result = await verifyArtifact(layout, { keys });
        await layout.close();
        return result.ok ? 'ok' : result.error.code;
      },
      (error: { code: string }) => error.code,
    );
  const tarOf = (items: Parameters<typeof tar>[0]): string => {
    const path = join(home, 'made.tar');
    writeFileSync(path, tar(items));
    return path;
  };
  const items = () => [...makeLayout(artifact)].map(([name, content]) => ({ name, content }));

  it('is a tar that this test can make', async () => {
    expect(await open(tarOf(items()))).toBe('ok');
  });

  it.each<[string, () => string]>([
    ['a name twice', () => tarOf([...items(), { name: './index.json', content: Buffer.from('{}') }])],
    ['a link', () => tarOf([...items(), { name: 'a', type: '2', linkname: 'index.json' }])],
    ['a hard link', () => tarOf([...items(), { name: 'a', type: '1', linkname: 'index.json' }])],
    ['a pax header that renames', () => tarOf([pax([['path', 'index.json']]), ...items()])],
    [
      'a pax header that resizes',
      () =>
        tarOf([
          pax([
            ['mtime', '1'],
            ['size', '1'],
          ]),
          ...items(),
        ]),
    ],
    [
      'a size that is binary',
      () => tarOf([...items(), { name: 'a', sizeField: Buffer.from('800000000000000000000001', 'hex') }]),
    ],
    ['a size past its end', () => tarOf([...items(), { name: 'a', size: 1 << 30 }])],
    ['a wrong checksum', () => tarOf([...items(), { name: 'a', checksum: 1 }])],
    ['a prefix', () => tarOf([...items(), { name: 'a', prefix: 'b' }])],
    [
      'no tar at all',
      () => {
        writeFileSync(join(home, 'text'), 'hello '.repeat(1000));
        return join(home, 'text');
      },
    ],
    [
      'an empty file',
      () => {
        writeFileSync(join(home, 'empty'), '');
        return join(home, 'empty');
      },
    ],
    [
      'an empty directory',
      () => {
        mkdirSync(join(home, 'nothing'), { recursive: true });
        return join(home, 'nothing');
      },
    ],
    [
      'a pipe',
      () => {
        execFileSync('mkfifo', [join(home, 'pipe')]);
        return join(home, 'pipe');
      },
    ],
    [
      'a compressed tar',
      () => {
        execFileSync('sh', ['-c', 'gzip -c "$0" > "$1"', tarOf(items()), join(home, 'a.tgz')]);
        return join(home, 'a.tgz');
      },
    ],
  ])('cannot be read from %s', async (_what, make) => {
    expect(await open(make())).toBe('ARTIFACT_UNREADABLE');
  });

  it('is not found where there is nothing', async () => {
    expect(await open(join(home, 'absent'))).toBe('NOT_FOUND');
  });

  it('is corrupted with a pipe or a directory in the place of a blob', async () => {
    for (const make of ['mkfifo "$0"', 'mkdir "$0"']) {
      const dir = mkdtempSync(join(home, 'spoilt-'));
      const files = makeLayout(artifact);
      const [config] = artifact.blobs.keys();
      const path = blobPath(config as string);
      files.delete(path);
      writeLayout(dir, files);
      execFileSync('sh', ['-c', make, join(dir, path)]);
      expect(await open(dir)).toBe('ARTIFACT_CORRUPTED');
    }
  });

  it('is never read beyond the size that a part may have', async () => {
    const dir = mkdtempSync(join(home, 'large-'));
    writeLayout(dir, makeLayout(artifact));
    execFileSync('truncate', ['-s', '10G', join(dir, 'index.json')]);
    expect(await open(dir)).toBe('ARTIFACT_UNREADABLE');
    writeLayout(dir, makeLayout(artifact));
    execFileSync('truncate', ['-s', '10G', join(dir, blobPath(artifact.digest))]);
    expect(await open(dir)).toBe('ARTIFACT_CORRUPTED');
  });
});
