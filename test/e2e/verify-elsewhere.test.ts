import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EmptyContainer, makeEmptyContainer } from '../support/empty-container.ts';
import { mkfifoSync } from '../support/fifo.ts';
import { blobPath, editAttestations, signAgain, statementIn } from '../support/forged-statements.ts';
import { useCli } from '../support/use-cli.ts';
import { goodPackage } from '../support/validation.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

const cli = useCli();
const elsewhere = mkdtempSync(join(tmpdir(), 'glovebox-elsewhere-'));
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

/** Made here: all that goes into the container. */
const made = (name: string): string => join(cli().dir, name);
let container: EmptyContainer;
let published: { ref: string; digest: string };
let privateKeyPem: string;
/** In the container: the current key when all of it was made, and the key list after a rotation. */
let key: string;
let keyList: string;

beforeAll(async () => {
  for (const [path, bytes] of goodPackage()) {
    mkdirSync(dirname(made(`adder/${path}`)), { recursive: true });
    writeFileSync(made(`adder/${path}`), bytes);
  }
  const glovebox = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cli().run(args);
    if (code !== 0) throw new Error(`glovebox ${args.join(' ')} gave ${code}:\n${stdout}\n${stderr}`);
    return stdout;
  };
  published = JSON.parse(await glovebox('node', 'publish', 'adder', '--json'));
  const ran = JSON.parse(await glovebox('node', 'run', published.ref, '--input', '{"a":1,"b":2}', '--json'));
  writeFileSync(made('receipt.json'), await glovebox('run', 'show', ran.run, '--receipt'));
  await glovebox('node', 'export', published.ref, 'artifact.tar');
  await glovebox('audit', 'export', '--out', 'audit.jsonl');
  privateKeyPem = readFileSync(join(cli().dataDir, 'keys/signing.pem'), 'utf8');
  copyFileSync(join(cli().dataDir, 'keys/signing.pub.pem'), made('key.pem'));
  await glovebox('key', 'rotate', '--yes');
  container = await makeEmptyContainer(join(elsewhere, 'root'));
  key = container.handOver(made('key.pem'));
  keyList = container.handOver(join(cli().dataDir, 'keys/keys.json'));
});

/** Verify in the container what lies here. @returns status, and error code where there is one. */
async function verify(path: string, ...pinned: string[]) {
  const name = container.handOver(path);
  const { code, stdout, stderr } = await container.glovebox(
    'verify',
    name,
    ...pinned.flatMap((file) => ['--key', file]),
    '--json',
  );
  if (stdout === '') throw new Error(stderr);
  const result = JSON.parse(stdout) as { [name: string]: unknown; error?: { code: string } };
  return { exit: code, error: result.error?.code, result };
}

describe('a container with Node.js, the packed command line and a key', () => {
  it('has nothing else: no file, no network, no privilege, no environment', async () => {
    const { cli: packed, others } = container.contents();
    expect(others).toEqual([]);
    expect(packed).toContain('/cli/package.json');
    const look = `console.log(JSON.stringify([process.getuid(), process.getgroups(), Object.keys(process.env).filter((name) => name !== 'PATH'),
      require('os').networkInterfaces(), require('fs').readdirSync('/').sort()]))`;
    const { stdout, stderr } = await container.node('-e', look);
    expect(stderr).toBe('');
    const [uid, groups, environment, interfaces, root] = JSON.parse(stdout) as unknown[];
    expect([uid, groups, environment, interfaces]).toEqual([65534, [65534], [], {}]);
    expect((root as string[]).filter((name) => !/^(lib|lib64|usr|cli|in)$/.test(name))).toEqual([]);
  });

  it('verifies a receipt, an artifact and an audit export that were made here', async () => {
    const receipt = await verify(made('receipt.json'), key);
    expect(receipt).toMatchObject({ exit: 0, result: { verified: true, kind: 'receipt', comparedWithRecord: false } });
    const { statement, keyId } = receipt.result as {
      keyId: string;
      statement: { predicate: { node: { release: unknown } } };
    };
    expect(statement.predicate.node.release).toEqual({ ref: published.ref, digest: published.digest });

    const artifact = await verify(made('artifact.tar'), key);
    expect(artifact).toMatchObject({
      exit: 0,
      result: { verified: true, kind: 'artifact', keyId, digest: published.digest, releases: [published.ref] },
    });

    const audit = await verify(made('audit.jsonl'), key);
    expect(audit).toMatchObject({ exit: 0, result: { verified: true, kind: 'audit', keyId } });
    expect(audit.result.signedUpTo).toBeGreaterThan(0);
  });

  it('needs the key that is pinned: without one it fails', async () => {
    const { exit, error } = await verify(made('receipt.json'));
    expect([exit === 0, error === undefined]).toEqual([false, false]);
  });
});

describe('where it was made', () => {
  const here = async (...args: string[]) => {
    const { code, json } = await cli().run(['verify', ...args, '--json']);
    return { exit: code, error: json().error?.code, result: json() };
  };

  it('a release is verified by its reference, against its record, and by the key that is pinned alone', async () => {
    const { ref, digest } = published;
    const release = { ref, state: 'active' };
    const result = { kind: 'artifact', comparedWithRecord: true, digest, release };
    expect(await here(ref)).toMatchObject({ exit: 0, result });
    expect(await here('adder', '--key', made('key.pem'))).toMatchObject({ exit: 0, result });
    const current = join(cli().dataDir, 'keys/signing.pub.pem');
    expect(await here(ref, '--key', current)).toMatchObject({ exit: 1, error: 'ATTESTATION_KEY_UNKNOWN' });
    expect(await here('adder@9.9.9')).toMatchObject({ exit: 2, error: 'NOT_FOUND' });
  });

  it('a file is verified by the current key, and one by the key of before the rotation is told as such', async () => {
    expect(await here(made('receipt.json'))).toMatchObject({ exit: 1, error: 'KEY_RETIRED' });
    expect(await here(made('artifact.tar'))).toMatchObject({ exit: 1, error: 'KEY_RETIRED' });
    const ran = await cli().run(['node', 'run', published.ref, '--input', '{"a":1,"b":2}', '--json']);
    const { stdout } = await cli().run(['run', 'show', ran.json().run as string, '--receipt']);
    writeFileSync(made('recent.json'), stdout);
    expect(await here(made('recent.json'))).toMatchObject({ exit: 0, result: { kind: 'receipt' } });
  });

  it('a layout is verified as a directory, and the store by the digest of one of its artifacts', async () => {
    const store = join(cli().dataDir, 'artifacts');
    const { digest } = published;
    const pinned = ['--key', made('key.pem')];
    expect(await here(store, ...pinned, '--digest', digest)).toMatchObject({ exit: 0, result: { digest } });
    const nowhere = `sha256:${'0'.repeat(64)}`;
    expect(await here(store, ...pinned, '--digest', nowhere)).toMatchObject({ exit: 2, error: 'NOT_FOUND' });
  });

  it('a pipe that nobody writes to is refused, as a thing to verify and as a key', async () => {
    const pipe = mkfifoSync(made('pipe'));
    expect(await here(pipe, '--key', made('key.pem'))).toMatchObject({ exit: 2, error: 'INPUT_UNREADABLE' });
    expect(await here(made('receipt.json'), '--key', pipe)).toMatchObject({ exit: 2, error: 'INPUT_UNREADABLE' });
  });
});

function otherKey(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  writeFileSync(made('other.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  return container.handOver(made('other.pem'));
}

describe('of a receipt', () => {
  const changed = (change: (text: string) => string): string => {
    writeFileSync(made('changed.json'), change(readFileSync(made('receipt.json'), 'utf8')));
    return made('changed.json');
  };
  /** The digit, in base64, of a payload or a signature that is another one afterwards. */
  const flip = (member: 'payload' | 'sig') => (text: string) => {
    const at = text.indexOf(`"${member}":"`) + member.length + 4 + 40;
    return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
  };

  it.each(['payload', 'sig'] as const)('a flipped byte in the %s is told', async (member) => {
    expect(await verify(changed(flip(member)), key)).toMatchObject({ exit: 1, error: 'RECEIPT_SIGNATURE' });
  });

  it('another key is told', async () => {
    expect(await verify(made('receipt.json'), otherKey())).toMatchObject({ exit: 1, error: 'RECEIPT_KEY_UNKNOWN' });
  });

  it('a missing field is told, though it is signed by the pinned key', async () => {
    const without = changed((text) =>
      signAgain(text, (payload) => payload.replace(/"image":"sha256:[0-9a-f]{64}",/, ''), privateKeyPem),
    );
    expect(await verify(without, key)).toMatchObject({ exit: 1, error: 'RECEIPT_INVALID' });
    const same = changed((text) => signAgain(text, (payload) => payload, privateKeyPem));
    expect(await verify(same, key)).toMatchObject({ exit: 0 });
  });

  it('a key that is retired since is told', async () => {
    expect(await verify(made('receipt.json'), keyList)).toMatchObject({ exit: 1, error: 'KEY_RETIRED' });
  });
});

describe('of an artifact', () => {
  let copies = 0;
  /** The artifact with its layout changed, as a tar. */
  function changed(change: (layout: string) => void): string {
    const layout = made(`layout-${copies++}`);
    mkdirSync(layout);
    execFileSync('tar', ['-xf', made('artifact.tar'), '-C', layout]);
    change(layout);
    execFileSync('tar', ['-cf', `${layout}.tar`, '-C', layout, '.']);
    return `${layout}.tar`;
  }
  const flipIn = (layout: string, digest: string): void => {
    const bytes = readFileSync(blobPath(layout, digest));
    bytes.writeUInt8((bytes.at(-3) ?? 0) ^ 1, bytes.length - 3);
    writeFileSync(blobPath(layout, digest), bytes);
  };
  interface Manifest {
    config: { digest: string };
    layers: { digest: string }[];
  }
  const manifestOf = (layout: string): Manifest =>
    JSON.parse(readFileSync(blobPath(layout, published.digest), 'utf8')) as Manifest;
  const flipInSignature = (text: string): string =>
    text.replace(/"sig":"(.)/, (_, c) => `"sig":"${c === 'A' ? 'B' : 'A'}`);

  it.each<[string, (layout: string) => string | undefined]>([
    ['the manifest', () => published.digest],
    ['the config', (layout) => manifestOf(layout).config.digest],
    ['the bundle', (layout) => manifestOf(layout).layers[0]?.digest],
    ['the source map', (layout) => manifestOf(layout).layers[1]?.digest],
    ['the source', (layout) => manifestOf(layout).layers[2]?.digest],
  ])('a flipped byte in %s is told', async (_, blob) => {
    const tar = changed((layout) => flipIn(layout, blob(layout) ?? ''));
    expect(await verify(tar, key)).toMatchObject({ exit: 1, error: 'ARTIFACT_CORRUPTED' });
  });

  it('a flipped byte in a signature is told, though every digest was made anew', async () => {
    const tar = changed((layout) => editAttestations(layout, flipInSignature));
    expect(await verify(tar, key)).toMatchObject({ exit: 1, error: 'ATTESTATION_SIGNATURE' });
    const same = changed((layout) => editAttestations(layout, (text) => text));
    expect(await verify(same, key)).toMatchObject({ exit: 0, result: { digest: published.digest } });
  });

  it('another key is told', async () => {
    expect(await verify(made('artifact.tar'), otherKey())).toMatchObject({ exit: 1, error: 'ATTESTATION_KEY_UNKNOWN' });
  });

  it('a missing field is told, though it is signed by the pinned key', async () => {
    const tar = changed((layout) =>
      editAttestations(layout, (text) =>
        statementIn(text).predicateType === 'urn:glovebox:validation-report:1'
          ? signAgain(text, (payload) => payload.replace(/"valid":true,?/, '').replace(',}', '}'), privateKeyPem)
          : text,
      ),
    );
    expect(await verify(tar, key)).toMatchObject({ exit: 1, error: 'ATTESTATION_INVALID' });
  });

  it('a missing attestation is told', async () => {
    const tar = changed((layout) =>
      editAttestations(layout, (text) =>
        statementIn(text).predicateType === 'https://slsa.dev/provenance/v1' ? null : text,
      ),
    );
    expect(await verify(tar, key)).toMatchObject({ exit: 1, error: 'ARTIFACT_UNSIGNED' });
  });

  it('a key that is retired since is told', async () => {
    expect(await verify(made('artifact.tar'), keyList)).toMatchObject({ exit: 1, error: 'KEY_RETIRED' });
  });
});

describe('of an audit export', () => {
  const changed = (change: (lines: string[]) => string[]): string => {
    const lines = readFileSync(made('audit.jsonl'), 'utf8').trimEnd().split('\n');
    writeFileSync(
      made('changed.jsonl'),
      change(lines)
        .map((line) => `${line}\n`)
        .join(''),
    );
    return made('changed.jsonl');
  };

  it.each<[string, (lines: string[]) => string[], string]>([
    [
      'a changed entry',
      (lines) => lines.map((line, i) => (i === 2 ? line.replace('local:uid', 'local:UID') : line)),
      'AUDIT_BROKEN',
    ],
    ['a missing entry', (lines) => lines.toSpliced(2, 1), 'AUDIT_BROKEN'],
    [
      'a missing field',
      (lines) => lines.map((line, i) => (i === 2 ? line.replace(/"subject":"[^"]*",/, '') : line)),
      'AUDIT_BROKEN',
    ],
    ['a line that is none', (lines) => lines.toSpliced(2, 0, '{"kind":"entries"}'), 'AUDIT_BROKEN'],
    [
      'missing signatures',
      (lines) => lines.filter((line) => !line.startsWith('{"kind":"checkpoint"')),
      'AUDIT_UNSIGNED',
    ],
  ])('%s is told', async (_, change, error) => {
    expect(await verify(changed(change), key)).toMatchObject({ exit: 1, error });
  });

  it('another key and a key that is retired since are told', async () => {
    expect(await verify(made('audit.jsonl'), otherKey())).toMatchObject({ exit: 1, error: 'ATTESTATION_KEY_UNKNOWN' });
    expect(await verify(made('audit.jsonl'), keyList)).toMatchObject({ exit: 1, error: 'KEY_RETIRED' });
  });
});
