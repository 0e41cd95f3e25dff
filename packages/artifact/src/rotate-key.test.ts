import { spawn, spawnSync } from 'node:child_process';
import { sign } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { statementMediaType } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAtNthWrite } from '../../../test/support/kill-at-nth-write.ts';
import { makeKey, makePredicate, type TestKey } from '../test/support/predicate.ts';
import { canonicalJson } from './canonical.ts';
import { encodeEnvelope, signedBytes } from './envelope.ts';
import {
  type Instance,
  openInstance,
  readOwnKeys,
  readPublicKey,
  readTrustedKeys,
  rotateSigningKey,
  signReceipt,
  verifyReceipt,
} from './index.ts';

let root: string;
let dataDir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'glovebox-rotate-'));
  dataDir = join(root, 'data');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const keysDir = (...names: string[]): string => join(dataDir, 'keys', ...names);
const readText = (path: string): string => readFileSync(path, 'utf8');
const filesOf = (dir: string): string[] => readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();

async function receiptBy({ instance, signer }: Instance): Promise<Buffer> {
  const { envelopeText } = await signReceipt({ ...makePredicate(), instance }, signer);
  return Buffer.from(envelopeText);
}
const check = (receipt: Buffer, keyText: string): string => {
  const result = verifyReceipt(receipt, readTrustedKeys(keyText));
  return result.ok ? 'ok' : result.error.code;
};

describe('a rotation', () => {
  it('gives the instance another key, keeps its id, and leaves nothing of the old private one', async () => {
    const before = await openInstance(dataDir);
    const oldSecret = readText(keysDir('signing.pem'));
    const rotation = await rotateSigningKey(dataDir);
    const after = await openInstance(dataDir);
    expect(rotation).toEqual({
      retiredKeyId: before.signer.keyId,
      keyId: after.signer.keyId,
      publicKeyPem: after.publicKeyPem,
    });
    expect(after.instance).toBe(before.instance);
    expect([before.retiredKeyPems, after.retiredKeyPems]).toEqual([[], [before.publicKeyPem]]);
    expect(after.signer.keyId).not.toBe(before.signer.keyId);
    expect(readPublicKey(dataDir)).toBe(after.publicKeyPem);
    const names = ['keys.json', 'retired', `retired/${before.signer.keyId}.pub.pem`, 'signing.pem', 'signing.pub.pem'];
    expect(filesOf(keysDir())).toEqual(names);
    expect(names.map((name) => statSync(keysDir(name)).mode & 0o777)).toEqual([0o600, 0o700, 0o600, 0o600, 0o600]);
    for (const name of names.filter((name) => name !== 'retired'))
      expect(readText(keysDir(name))).not.toContain(oldSecret.split('\n')[1]);
  });

  it('lets a key list tell apart what the current, a retired and an unknown key has signed', async () => {
    const old = await receiptBy(await openInstance(dataDir));
    const oldPem = readPublicKey(dataDir);
    await rotateSigningKey(dataDir);
    const middle = await receiptBy(await openInstance(dataDir));
    await rotateSigningKey(dataDir);
    const recent = await receiptBy(await openInstance(dataDir));
    const list = readText(keysDir('keys.json'));
    expect([old, middle, recent].map((receipt) => check(receipt, list))).toEqual(['KEY_RETIRED', 'KEY_RETIRED', 'ok']);
    expect(readOwnKeys(dataDir)).toEqual(readTrustedKeys(list));
    const stranger = await receiptBy(await openInstance(join(root, 'other')));
    expect(check(stranger, list)).toBe('RECEIPT_KEY_UNKNOWN');
    // A single key pins that key alone, also as the file in which it is kept once it is retired.
    expect([old, recent].map((receipt) => check(receipt, readPublicKey(dataDir)))).toEqual([
      'RECEIPT_KEY_UNKNOWN',
      'ok',
    ]);
    const retired = readdirSync(keysDir('retired')).map((name) => readText(keysDir('retired', name)));
    expect(retired.map((text) => check(old, text)).sort()).toEqual(['RECEIPT_KEY_UNKNOWN', 'ok']);
    expect(retired.some((text) => text.endsWith(oldPem))).toBe(true);
    expect(
      verifyReceipt(Buffer.from(String(old).replace(/"sig":"..../, '"sig":"AAAA')), readTrustedKeys(list)),
    ).toMatchObject({
      ok: false,
      error: { code: 'RECEIPT_SIGNATURE' },
    });
  });

  it('keeps retired keys that other tools read', async () => {
    await openInstance(dataDir);
    const { retiredKeyId } = await rotateSigningKey(dataDir, 1_767_323_045_678);
    const path = keysDir('retired', `${retiredKeyId}.pub.pem`);
    expect(readText(path)).toMatch(/^Retired 2026-01-02T03:04:05\.678Z\n-----BEGIN PUBLIC KEY-----\n/);
    const der = spawnSync('openssl', ['pkey', '-pubin', '-in', path, '-outform', 'DER']);
    const digest = spawnSync('sha256sum', { input: der.stdout, encoding: 'utf8' });
    expect(digest.stdout).toContain(retiredKeyId);
  });

  it('can be killed at each of its changes to the disk: the key is the old one or the new one, whole, and nothing is lost', async () => {
    const program = fileURLToPath(new URL('../test/support/rotate-key.ts', import.meta.url));
    const original = join(root, 'original');
    const before = await openInstance(original);
    const old = await receiptBy(before);
    const rotateElsewhere = (dir: string, flags: string[]): Promise<NodeJS.Signals | null> =>
      new Promise((resolve, reject) => {
        const env = { NODE_COMPILE_CACHE: join(root, 'cache') };
        const child = spawn(process.execPath, [...flags, program, dir], { env, stdio: 'ignore' });
        child.once('error', reject);
        child.once('close', (_code, signal) => resolve(signal));
      });
    cpSync(original, join(root, 'unharmed'), { recursive: true });
    await rotateElsewhere(join(root, 'unharmed'), []);
    const outcomes = new Map<string, number>();
    for (let next = 1, alive = false; !alive; next += 3) {
      const rounds = [next, next + 1, next + 2].map(async (n) => {
        const dir = join(root, `killed-${n}`);
        cpSync(original, dir, { recursive: true });
        return { n, dir, signal: await rotateElsewhere(dir, killAtNthWrite(n)) };
      });
      for (const { n, dir, signal } of await Promise.all(rounds)) {
        alive ||= signal !== 'SIGKILL';
        // By whoever only looks, before anything is mended.
        const seen = readPublicKey(dir);
        const after = await openInstance(dir);
        expect({ n, seen }).toEqual({ n, seen: after.publicKeyPem });
        const isRotated = after.signer.keyId !== before.signer.keyId;
        const recent = await receiptBy(after);
        const list = isRotated ? readText(join(dir, 'keys', 'keys.json')) : after.publicKeyPem;
        expect({ n, old: check(old, list), recent: check(recent, list) }).toEqual({
          n,
          old: isRotated ? 'KEY_RETIRED' : 'ok',
          recent: 'ok',
        });
        const outcome = `${signal === 'SIGKILL' ? 'killed' : 'done'}, ${isRotated ? 'rotated' : 'not'}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        await rotateSigningKey(dir);
        const again = readText(join(dir, 'keys', 'keys.json'));
        expect({ n, old: check(old, again), recent: check(recent, again) }).toEqual({
          n,
          old: 'KEY_RETIRED',
          recent: 'KEY_RETIRED',
        });
        expect({ n, left: filesOf(dir).filter((name) => /(^|\/)\./.test(name)) }).toEqual({ n, left: [] });
      }
    }
    expect(outcomes.get('killed, not')).toBeGreaterThan(5);
    expect(outcomes.get('killed, rotated')).toBeGreaterThan(5);
    expect(outcomes.get('done, not')).toBe(undefined);
  });

  it('is completed by the next start where its list was lost or is of an earlier one', async () => {
    await openInstance(dataDir);
    await rotateSigningKey(dataDir);
    const first = readText(keysDir('keys.json'));
    await rotateSigningKey(dataDir);
    const second = readText(keysDir('keys.json'));
    for (const spoil of [
      () => rmSync(keysDir('keys.json')),
      () => writeFileSync(keysDir('keys.json'), first),
      () => writeFileSync(keysDir('keys.json'), 'x'),
    ]) {
      spoil();
      await openInstance(dataDir);
      expect(readText(keysDir('keys.json'))).toBe(second);
    }
  });

  it('is told when a retired key on disk is damaged', async () => {
    await openInstance(dataDir);
    const { retiredKeyId } = await rotateSigningKey(dataDir);
    writeFileSync(keysDir('retired', `${retiredKeyId}.pub.pem`), readPublicKey(dataDir));
    await expect(openInstance(dataDir)).rejects.toMatchObject({ code: 'KEY_UNUSABLE' });
  });
});

describe('a key list', () => {
  const current = makeKey();
  const retired = makeKey();
  const idOf = ({ keyId, publicKeyPem }: TestKey) => ({ keyId, pem: publicKeyPem });
  const list = () => ({
    schema: 'glovebox.keys/1',
    instance: current.signer.instance as string,
    current: idOf(current),
    retired: [{ ...idOf(retired), retiredAt: '2026-01-02T03:04:05.678Z' }],
  });
  const statement = (predicate: ReturnType<typeof list>) => ({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: `instance/${predicate.instance}`, digest: { sha256: predicate.current.keyId } }],
    predicateType: 'urn:glovebox:keys:1',
    predicate,
  });
  const signedBy = (by: TestKey, payload: object): string => {
    const bytes = Buffer.from(canonicalJson(payload));
    const sig = sign(null, signedBytes(statementMediaType, bytes), by.privateKey);
    return canonicalJson(encodeEnvelope(statementMediaType, bytes, [{ keyId: by.keyId, sig }]));
  };

  it('names the current key and the retired ones', () => {
    expect(readTrustedKeys(`${signedBy(current, statement(list()))}\n`)).toEqual({
      keys: [current.publicKeyPem],
      retired: [retired.publicKeyPem],
    });
    expect(readTrustedKeys(current.publicKeyPem)).toEqual({ keys: [current.publicKeyPem], retired: [] });
  });

  it.each<[string, () => string]>([
    ['signed by a retired key', () => signedBy(retired, statement(list()))],
    ['signed by a stranger', () => signedBy(makeKey(), statement(list()))],
    [
      'with a key added after it was signed',
      () => {
        const envelope = JSON.parse(signedBy(current, statement(list())));
        const more = { ...list(), retired: [] };
        return canonicalJson({ ...envelope, payload: Buffer.from(canonicalJson(statement(more))).toString('base64') });
      },
    ],
    [
      'with a key under another id',
      () =>
        signedBy(
          current,
          statement({ ...list(), retired: [{ ...list().retired[0], keyId: '0'.repeat(64) } as never] }),
        ),
    ],
    [
      'with the current key among the retired',
      () =>
        signedBy(
          current,
          statement({ ...list(), retired: [{ ...idOf(current), retiredAt: '2026-01-02T03:04:05.678Z' }] }),
        ),
    ],
    ['with a field more', () => signedBy(current, statement({ ...list(), extra: 1 } as never))],
    [
      'about another instance',
      () =>
        signedBy(current, {
          ...statement(list()),
          subject: [{ name: 'instance/x', digest: { sha256: current.keyId } }],
        }),
    ],
    ['of another type', () => signedBy(current, { ...statement(list()), predicateType: 'urn:glovebox:keys:2' })],
    ['that is a receipt', () => signedBy(current, { a: 1 })],
    ['that is JSON of another kind', () => '{"current":{}}'],
    ['that is text', () => 'hello'],
    ['that is a private key', () => current.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string],
  ])('is refused %s', (_what, make) => {
    expect(() => readTrustedKeys(make())).toThrow(expect.objectContaining({ code: 'KEY_UNUSABLE' }));
  });
});
