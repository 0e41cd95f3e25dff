import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { rotateSigningKey } from '@glovebox/artifact';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { inWay, manyWays } from '../support/many-ways.ts';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
let run: string;
let receipt: string;
let keyFile: string;
beforeAll(async () => {
  await cli().node('many-ways', manyWays);
  const ran = await cli().run([...inWay('lines', 3), '--json']);
  run = ran.json().run as string;
  receipt = (await cli().run(['run', 'show', run, '--receipt'])).stdout;
  writeFileSync(path('receipt.json'), receipt);
  keyFile = join(cli().dataDir, 'keys', 'signing.pub.pem');
});

const path = (name: string): string => join(cli().dir, name);
const verify = (...args: string[]) => cli().run(['verify', ...args, '--json']);

let changes = 0;

describe.concurrent('glovebox verify', () => {
  it('verifies a run against its record', async () => {
    const { code, json } = await verify(run);
    expect(code).toBe(0);
    expect(json()).toMatchObject({
      verified: true,
      keyId: expect.stringMatching(/^[0-9a-f]{64}$/),
      comparedWithRecord: true,
      statement: { predicate: { run, observed: { state: 'SUCCEEDED', acceptedRisks: [] } } },
    });
    const text = await cli().run(['verify', run]);
    expect(text.code).toBe(0);
    for (const part of ['verified', 'matches the record', 'many-ways@1.0.0', 'SUCCEEDED', 'in force', 'seccomp'])
      expect(text.stdout).toContain(part);
  });

  it('verifies a file with a key alone, on a machine that has nothing else', async () => {
    const dataDir = path('never-made');
    const { code, json } = await verify(path('receipt.json'), '--key', keyFile, '--data-dir', dataDir);
    expect({ code, compared: json().comparedWithRecord }).toEqual({ code: 0, compared: false });
    const without = await verify(path('receipt.json'), '--data-dir', dataDir);
    expect({ code: without.code, error: without.json().error?.code }).toEqual({ code: 3, error: 'KEY_UNUSABLE' });
    expect(() => readFileSync(dataDir)).toThrow(/ENOENT/);
  });

  it('takes several keys, of which one has to fit', async () => {
    const other = writeKey('other.pem');
    expect((await verify(path('receipt.json'), '--key', other, '--key', keyFile)).code).toBe(0);
    const { code, json } = await verify(path('receipt.json'), '--key', other);
    expect({ code, error: json().error?.code }).toEqual({ code: 1, error: 'RECEIPT_KEY_UNKNOWN' });
  });

  it('tells a retired key as such, of a run as of a file', async () => {
    const rotated = path('rotated');
    mkdirSync(rotated, { mode: 0o700 });
    cpSync(join(cli().dataDir, 'keys'), join(rotated, 'keys'), { recursive: true });
    copyFileSync(join(cli().dataDir, 'instance.json'), join(rotated, 'instance.json'));
    await rotateSigningKey(rotated);
    const keyList = join(rotated, 'keys', 'keys.json');
    for (const what of [run, path('receipt.json')]) {
      const { code, json } = await verify(what, '--key', keyList);
      expect({ what, code, error: json().error?.code }).toEqual({ what, code: 1, error: 'KEY_RETIRED' });
      expect((await verify(what, '--key', keyList, '--key', keyFile)).code).toBe(0);
    }
  });

  it.each<[string, () => string | Buffer, number, string]>([
    [
      'a changed payload',
      () => changePayload((text) => text.replace('SUCCEEDED', 'SUCCEEDEX')),
      1,
      'RECEIPT_SIGNATURE',
    ],
    ['a changed byte in the signature', () => changeSignature(receipt), 1, 'RECEIPT_SIGNATURE'],
    [
      'a payload with a member more',
      () => changePayload((text) => text.replace('{', '{"a":1,')),
      1,
      'RECEIPT_SIGNATURE',
    ],
    ['half a receipt', () => receipt.slice(0, receipt.length / 2), 2, 'RECEIPT_UNREADABLE'],
    ['an empty file', () => '', 2, 'RECEIPT_UNREADABLE'],
    ['text', () => 'not a receipt', 2, 'RECEIPT_UNREADABLE'],
    ['JSON that is none', () => '{"payload":"e30=","signatures":[]}', 2, 'RECEIPT_UNREADABLE'],
    ['an unknown member', () => receipt.replace('{', '{"extra":1,'), 2, 'RECEIPT_UNREADABLE'],
    ['bytes that are no text', () => Buffer.alloc(1000, 0xff), 2, 'RECEIPT_UNREADABLE'],
    ['a file that is too large', () => `${receipt}${' '.repeat(5 * 1024 * 1024)}`, 2, 'RECEIPT_UNREADABLE'],
  ])('refuses %s', async (_, content, exit, error) => {
    const file = path(`changed-${changes++}.json`);
    writeFileSync(file, content());
    const { code, json, stderr } = await verify(file, '--key', keyFile);
    expect({ code, error: json().error?.code, stderr }).toEqual({ code: exit, error, stderr: '' });
    expect(json().error?.hint).toMatch(/./);
    expect(json()).not.toHaveProperty('statement');
  });

  it.each<[string, string[], number, string]>([
    ['a file that is not there', ['nowhere.json'], 2, 'INPUT_UNREADABLE'],
    ['a directory that is no layout', ['.'], 2, 'ARTIFACT_UNREADABLE'],
    ['a run that is not there', ['run_0000000000000000000000'], 2, 'NOT_FOUND'],
    ['a key that is not there', ['receipt.json', '--key', 'no.pem'], 2, 'INPUT_UNREADABLE'],
    ['a key that is a directory', ['receipt.json', '--key', '.'], 2, 'INPUT_UNREADABLE'],
    ['a key that is none', ['receipt.json', '--key', 'receipt.json'], 3, 'KEY_UNUSABLE'],
    ['a private key', ['receipt.json', '--key', 'private.pem'], 3, 'KEY_UNUSABLE'],
    ['a key of another kind', ['receipt.json', '--key', 'ec.pem'], 3, 'KEY_UNUSABLE'],
    ['nothing', [], 2, 'USAGE'],
  ])('refuses %s', async (_, args, exit, error) => {
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(path('private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(path('ec.pem'), ec.publicKey.export({ type: 'spki', format: 'pem' }));
    const { code, json } = await verify(...args);
    expect({ code, error: json().error?.code }).toEqual({ code: exit, error });
    expect(json().error?.hint).toMatch(/./);
  });

  it('says so when the record of a run was changed', async () => {
    const dataDir = path('copied');
    mkdirSync(dataDir, { mode: 0o700 });
    mkdirSync(join(dataDir, 'keys'), { mode: 0o700 });
    for (const name of ['instance.json', 'glovebox.db', 'keys/signing.pem', 'keys/signing.pub.pem']) {
      copyFileSync(join(cli().dataDir, name), join(dataDir, name));
      chmodSync(join(dataDir, name), 0o600);
    }
    expect((await verify(run, '--data-dir', dataDir)).code).toBe(0);
    const db = new DatabaseSync(join(dataDir, 'glovebox.db'));
    db.prepare('UPDATE attempt_ends SET output_text = ?').run('{"value":4}');
    db.close();
    const { code, json } = await verify(run, '--data-dir', dataDir);
    expect({ code, error: json().error }).toMatchObject({
      code: 1,
      error: { code: 'RECEIPT_MISMATCH', details: { differs: ['output'] } },
    });
    // The receipt that went out before is as good as ever.
    expect((await verify(path('receipt.json'), '--data-dir', dataDir)).code).toBe(0);
  });

  it('trusts no key in a data directory that others could have written', async () => {
    const dataDir = path('loose');
    mkdirSync(join(dataDir, 'keys'), { recursive: true, mode: 0o700 });
    const theirs = writeKey('theirs.pem');
    symlinkSync(theirs, join(dataDir, 'keys', 'signing.pub.pem'));
    chmodSync(dataDir, 0o777);
    const { code, json } = await verify(path('receipt.json'), '--data-dir', dataDir);
    expect({ code, error: json().error?.code }).toEqual({ code: 3, error: expect.stringMatching(/UNUSABLE$/) });
    rmSync(dataDir, { recursive: true });
  });

  it('says that a run without a receipt has none', async () => {
    const ran = cli().start([...inWay('wait', 170_000), '--json=lines']);
    const [, id = ''] = await ran.seen('stdout', /"event":"run","run":"(run_\w+)"/);
    await ran.seen('stdout', /"message":"waiting"/);
    process.kill(ran.workerPid() as number, 'SIGKILL');
    await ran.done;
    for (const args of [
      ['verify', id],
      ['run', 'show', id, '--receipt'],
    ]) {
      const { code, json } = await cli().run([...args, '--json']);
      expect({ code, error: json().error?.code }).toEqual({ code: 2, error: 'NOT_FOUND' });
    }
  });
});

function writeKey(name: string): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  writeFileSync(path(name), publicKey.export({ type: 'spki', format: 'pem' }));
  return path(name);
}

interface Envelope {
  payload: string;
  signatures: { sig: string }[];
}

function changePayload(change: (text: string) => string): string {
  const envelope = JSON.parse(receipt) as Envelope;
  const payload = Buffer.from(change(Buffer.from(envelope.payload, 'base64').toString())).toString('base64');
  return JSON.stringify({ ...envelope, payload });
}

function changeSignature(text: string): string {
  const envelope = JSON.parse(text) as Envelope;
  const [first] = envelope.signatures as [{ sig: string }];
  const sig = Buffer.from(first.sig, 'base64');
  sig[10] = (sig[10] ?? 0) ^ 1;
  return JSON.stringify({ ...envelope, signatures: [{ ...first, sig: sig.toString('base64') }] });
}
