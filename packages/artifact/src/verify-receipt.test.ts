import { generateKeyPairSync, sign } from 'node:crypto';
import { type Json, type ReceiptPredicate, statementMediaType } from '@glovebox/contract';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeKey, makePredicate, type TestKey } from '../test/support/predicate.ts';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { encodeEnvelope, maxEnvelopeBytes, signedBytes } from './envelope.ts';
import { signReceipt, verifyReceipt } from './index.ts';

const key = makeKey();
const other = makeKey();
const predicate = makePredicate();
let text: string;
let digest: string;
let payloadText: string;

beforeAll(async () => {
  ({ envelopeText: text, digest } = await signReceipt(predicate, key.signer));
  payloadText = Buffer.from(payloadOf(text), 'base64').toString();
});

const payloadOf = (envelope: string): string => (JSON.parse(envelope) as { payload: string }).payload;

const keys = [key.publicKeyPem];
const check = (content: string | Uint8Array, pinned: Parameters<typeof verifyReceipt>[1]['keys'] = keys) => {
  const result = verifyReceipt(typeof content === 'string' ? Buffer.from(content) : content, { keys: pinned });
  return result.ok ? 'ok' : result.error.code;
};

/** An envelope with a good signature over any payload and type. */
function signed(payload: string | Buffer, payloadType = statementMediaType as string, by: TestKey[] = [key]): string {
  const bytes = Buffer.from(payload);
  const signatures = by.map(({ keyId, privateKey }) => ({
    keyId,
    sig: sign(null, signedBytes(payloadType, bytes), privateKey),
  }));
  return JSON.stringify(encodeEnvelope(payloadType as typeof statementMediaType, bytes, signatures));
}

type Edits = { [pointer: string]: Json | undefined };

/** A JSON text with values set at JSON Pointers; undefined removes. */
function edit(json: string, edits: Edits): string {
  const root = JSON.parse(json) as Json;
  for (const [pointer, value] of Object.entries(edits)) {
    const steps = pointer.slice(1).split('/');
    const last = steps.pop() ?? '';
    let target = root as { [key: string]: Json };
    for (const step of steps) target = target[step] as { [key: string]: Json };
    if (value === undefined) delete target[last];
    else target[last] = value;
  }
  return JSON.stringify(root);
}

const edited = (edits: Edits): string => canonicalJson(JSON.parse(edit(payloadText, edits)));
const base64 = (content: string): string => Buffer.from(content).toString('base64');

describe('a receipt', () => {
  it('verifies with the public key alone, and gives back what was signed', () => {
    const result = verifyReceipt(Buffer.from(text), { keys });
    expect(result).toMatchObject({ ok: true, keyId: key.keyId, digest });
    expect(result.ok && result.statement.predicate).toEqual(predicate);
    expect(result.ok && result.statement.subject).toEqual([
      { name: `attempt/${predicate.attempt}`, digest: { sha256: '2'.repeat(64) } },
    ]);
    expect(digest).toBe(sha256Of(text));
  });

  it('verifies with a parsed key, among several keys, and with white space around its parts', () => {
    expect(check(text, [key.publicKey])).toBe('ok');
    expect(check(text, [other.publicKeyPem, key.publicKeyPem])).toBe('ok');
    expect(check(`\n${JSON.stringify(JSON.parse(text), null, 2)}\n`)).toBe('ok');
  });

  it('fails when a bit of any of its bytes is changed', () => {
    const bytes = Buffer.from(text);
    const parsed = [key.publicKey];
    const codes = new Map<string, number>();
    for (let at = 0; at < bytes.length; at++) {
      const mask = [0x01, 0x02, 0x20, 0x80][at % 4] ?? 0;
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ mask, at);
      const code = check(changed, parsed);
      if (code === 'ok' || code === 'RECEIPT_INVALID') throw new Error(`byte ${at} ^ ${mask}: ${code}`);
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect([...codes.keys()].sort()).toEqual(['RECEIPT_KEY_UNKNOWN', 'RECEIPT_SIGNATURE', 'RECEIPT_UNREADABLE']);
  });

  it('fails when it is cut or grows', () => {
    for (let length = 0; length < text.length; length += 7)
      expect(check(text.slice(0, length))).toBe('RECEIPT_UNREADABLE');
    expect(check(`${text}x`)).toBe('RECEIPT_UNREADABLE');
    expect(check(`${text}${text}`)).toBe('RECEIPT_UNREADABLE');
  });

  const zeros = Buffer.alloc(64).toString('base64');
  it.each<[string, () => Edits, string]>([
    ['another payload', () => ({ '/payload': base64(edited({ '/_type': 'x' })) }), 'RECEIPT_SIGNATURE'],
    ['an empty payload', () => ({ '/payload': '' }), 'RECEIPT_SIGNATURE'],
    ['another type', () => ({ '/payloadType': 'text/plain' }), 'RECEIPT_SIGNATURE'],
    ['an empty signature', () => ({ '/signatures/0/sig': '' }), 'RECEIPT_SIGNATURE'],
    ['a short signature', () => ({ '/signatures/0/sig': 'AAAA' }), 'RECEIPT_SIGNATURE'],
    ['a signature of zeros', () => ({ '/signatures/0/sig': zeros }), 'RECEIPT_SIGNATURE'],
    ['another key id', () => ({ '/signatures/0/keyid': other.keyId }), 'RECEIPT_KEY_UNKNOWN'],
    ['a key id in upper case', () => ({ '/signatures/0/keyid': key.keyId.toUpperCase() }), 'RECEIPT_KEY_UNKNOWN'],
    ['an empty key id', () => ({ '/signatures/0/keyid': '' }), 'RECEIPT_KEY_UNKNOWN'],
    ['no signatures', () => ({ '/signatures': [] }), 'RECEIPT_UNREADABLE'],
    [
      'nine signatures',
      () => ({ '/signatures': Array(9).fill({ keyid: key.keyId, sig: zeros }) }),
      'RECEIPT_UNREADABLE',
    ],
    ['an unknown field', () => ({ '/note': 1 }), 'RECEIPT_UNREADABLE'],
    ['an unknown field of a signature', () => ({ '/signatures/0/cert': 'x' }), 'RECEIPT_UNREADABLE'],
    ['a missing field', () => ({ '/payloadType': undefined }), 'RECEIPT_UNREADABLE'],
    ['a type that is no text', () => ({ '/payloadType': 7 }), 'RECEIPT_UNREADABLE'],
    ['a type that is too long', () => ({ '/payloadType': 'x'.repeat(256) }), 'RECEIPT_UNREADABLE'],
    ['base64 of the other alphabet', () => ({ '/payload': `-_${payloadOf(text).slice(2)}` }), 'RECEIPT_UNREADABLE'],
    ['base64 with white space', () => ({ '/payload': payloadOf(text).replace(/^.{4}/, '$&\n') }), 'RECEIPT_UNREADABLE'],
    [
      'base64 with bits past the end',
      () => ({ '/signatures/0/sig': `${zeros.slice(0, 85)}B==` }),
      'RECEIPT_UNREADABLE',
    ],
  ])('is refused with %s', (_what, edits, code) => {
    expect(check(edit(text, edits()))).toBe(code);
  });

  it.each<[string, () => string | Uint8Array]>([
    ['nothing', () => ''],
    ['a text that is not JSON', () => 'receipt'],
    ['JSON that is no envelope', () => '[]'],
    ['null', () => 'null'],
    ['a repeated key', () => text.replace('{"payload":', '{"payload":"","payload":')],
    ['a byte order mark', () => `\ufeff${text}`],
    [
      'a byte that is not UTF-8',
      () => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')]),
    ],
    ['deep nesting', () => '['.repeat(100_000) + ']'.repeat(100_000)],
    [
      'deep nesting inside an envelope',
      () => text.replace('"signatures":[', `"signatures":[${'['.repeat(5000)}${']'.repeat(5000)},`),
    ],
    ['more bytes than a receipt may have', () => text + ' '.repeat(maxEnvelopeBytes - text.length + 1)],
    ['UTF-16', () => Buffer.from(text, 'utf16le')],
  ])('cannot be read from %s', (_what, content) => {
    expect(check(content())).toBe('RECEIPT_UNREADABLE');
  });

  it('may be as large as the limit', () => {
    expect(check(text + ' '.repeat(maxEnvelopeBytes - text.length))).toBe('ok');
  });

  it('shows nothing of a payload that does not pass', () => {
    const forged = signed(edited({ '/predicate/actor': 'CANARY' }), statementMediaType, [other]);
    const result = verifyReceipt(Buffer.from(forged.replace(other.keyId, 'CANARY\\u001b[31m')), { keys });
    expect(result).toMatchObject({ ok: false, error: { code: 'RECEIPT_KEY_UNKNOWN' } });
    expect(JSON.stringify(result)).not.toContain('CANARY');
    const unsigned = verifyReceipt(Buffer.from(forged.replace(other.keyId, key.keyId)), { keys });
    expect(unsigned).toMatchObject({ ok: false, error: { code: 'RECEIPT_SIGNATURE' } });
    expect(JSON.stringify(unsigned)).not.toContain('CANARY');
  });
});

describe('the keys that are pinned', () => {
  it('decide: another key, or none, is not enough', () => {
    expect(check(text, [other.publicKeyPem])).toBe('RECEIPT_KEY_UNKNOWN');
    expect(check(text, [])).toBe('RECEIPT_KEY_UNKNOWN');
  });

  it('may be those before and after a rotation, and an old receipt needs the old one', async () => {
    const rotated = makeKey();
    const { envelopeText: later } = await signReceipt(makePredicate(), rotated.signer);
    expect(check(later, [rotated.publicKeyPem])).toBe('ok');
    expect(check(text, [rotated.publicKeyPem])).toBe('RECEIPT_KEY_UNKNOWN');
    for (const receipt of [text, later]) expect(check(receipt, [key.publicKeyPem, rotated.publicKeyPem])).toBe('ok');
  });

  it('must cover every signature that is there, and each must hold', () => {
    const both = signed(payloadText, statementMediaType, [key, other]);
    expect(check(both, [key.publicKeyPem, other.publicKeyPem])).toBe('ok');
    expect(check(both, [key.publicKeyPem])).toBe('RECEIPT_KEY_UNKNOWN');
    for (const broken of [0, 1]) {
      const changed = edit(both, { [`/signatures/${broken}/sig`]: Buffer.alloc(64, 1).toString('base64') });
      expect(check(changed, [key.publicKeyPem, other.publicKeyPem])).toBe('RECEIPT_SIGNATURE');
    }
  });

  it('do not vouch for a signature of one key under the id of another', () => {
    const envelope = signed(payloadText, statementMediaType, [other]).replace(other.keyId, key.keyId);
    expect(check(envelope, [key.publicKeyPem, other.publicKeyPem])).toBe('RECEIPT_SIGNATURE');
  });

  it('are refused when they are no Ed25519 public keys', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
      type: 'spki',
      format: 'pem',
    }) as string;
    const secret = key.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    for (const bad of [rsa, p256, secret, key.privateKey, 'x', '']) {
      const result = verifyReceipt(Buffer.from(text), { keys: [bad] });
      expect(result).toMatchObject({ ok: false, error: { code: 'KEY_UNUSABLE' } });
      expect(JSON.stringify(result)).not.toContain(secret.slice(40, 80));
    }
  });
});

describe('a payload with a good signature', () => {
  it('passes as it was', () => {
    expect(check(signed(payloadText))).toBe('ok');
  });

  it.each<[string, () => string]>([
    ['a missing field', () => edited({ '/predicate/observed/permissions': undefined })],
    ['an unknown field', () => edited({ '/predicate/observed/extra': 1 })],
    ['an unknown field at the top', () => edited({ '/extra': 1 })],
    ['a __proto__', () => payloadText.replace('{"_type":', '{"__proto__":{},"_type":')],
    ['a state that there is not', () => edited({ '/predicate/observed/state': 'GREAT' })],
    ['a number for a digest', () => edited({ '/predicate/node/bundle': 7 })],
    ['another statement type', () => edited({ '/_type': 'https://in-toto.io/Statement/v0.1' })],
    ['another predicate type', () => edited({ '/predicateType': 'https://slsa.dev/provenance/v1' })],
    ['no subject', () => edited({ '/subject': [] })],
    ['another bundle as its subject', () => edited({ '/subject/0/digest/sha256': '0'.repeat(64) })],
    ['another attempt as its subject', () => edited({ '/subject/0/name': 'attempt/other' })],
    ['white space', () => `${payloadText} `],
    [
      'keys in another order',
      () => JSON.stringify({ predicate: JSON.parse(payloadText).predicate, ...JSON.parse(payloadText) }),
    ],
    ['a repeated key', () => payloadText.replace('"_type":', '"_type":"x","_type":')],
    ['another spelling of a number', () => payloadText.replace('"boot":40', '"boot":4e1')],
    ['another spelling of a text', () => payloadText.replace('csv-profile', 'csv\\u002dprofile')],
    ['no JSON', () => 'hello'],
    ['nothing', () => ''],
    ['deep nesting', () => '['.repeat(50_000) + ']'.repeat(50_000)],
  ])('is refused with %s', (_what, payload) => {
    const content = payload();
    expect(content).not.toBe(payloadText);
    expect(check(signed(content))).toBe('RECEIPT_INVALID');
  });

  it('is refused when it is not UTF-8', () => {
    expect(check(signed(Buffer.concat([Buffer.from(payloadText.slice(0, -1)), Buffer.from([0xff, 0x7d])])))).toBe(
      'RECEIPT_INVALID',
    );
  });

  it('is refused under another type', () => {
    for (const type of ['text/plain', '', `${statementMediaType} `])
      expect(check(signed(payloadText, type))).toBe('RECEIPT_INVALID');
  });
});

describe('signing', () => {
  it('gives a receipt that verifies for whatever the cell claimed', async () => {
    let odd = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.string({ unit: 'grapheme', maxLength: 60 }),
        async (code, message) => {
          if (!code.isWellFormed()) odd++;
          const claimed = { errorCode: code, errorMessage: `${message}\ud83d` };
          const receipt = await signReceipt(
            makePredicate({ claimed, observed: { errorCode: code, state: 'FAILED' } }),
            key.signer,
          );
          const result = verifyReceipt(Buffer.from(receipt.envelopeText), { keys });
          expect(result).toMatchObject({
            ok: true,
            statement: { predicate: { claimed: { errorCode: code.toWellFormed(), errorMessage: `${message}\ufffd` } } },
          });
        },
      ),
      { seed: 4, numRuns: 100, examples: [['\udfff', '']] },
    );
    expect(odd).toBeGreaterThan(0);
  });

  it('gives the same payload for the same facts, with keys in whatever order', async () => {
    const backwards = Object.fromEntries(Object.entries(predicate).reverse()) as unknown as ReceiptPredicate;
    expect((await signReceipt(backwards, key.signer)).envelopeText).toBe(text);
  });

  it('refuses to sign what would not verify, and another instance as its own', async () => {
    await expect(signReceipt(makePredicate({ observed: { logDigest: 'sha256:x' } }), key.signer)).rejects.toMatchObject(
      { code: 'INTERNAL' },
    );
    const foreign = { ...makePredicate(), instance: `ins_${'0'.repeat(22)}` };
    await expect(signReceipt(foreign, key.signer)).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});
