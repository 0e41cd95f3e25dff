import {
  artifactLimits,
  type Envelope,
  envelopeSchema,
  type Json,
  parseJson,
  statementMediaType,
} from '@glovebox/contract';
// The index of the package also loads ASN.1 and X.509, which take ten times as long as the rest of a verification.
import { preAuthEncoding } from '@sigstore/core/dist/dsse.js';

/** Larger ones are not read: a receipt with a thousand files takes half a megabyte, the parts of two thousand packages two. */
export const maxEnvelopeBytes = artifactLimits.attestationBytes;

const maxEnvelopeDepth = 3;

/** An envelope whose signatures nobody has looked at yet. */
export interface UnverifiedEnvelope {
  unsafePayloadType: string;
  unsafePayload: Buffer;
  signatures: { unsafeKeyId: string; sig: Buffer }[];
}

/** What a signature is over: type and payload with their lengths, so that neither can pass for a part of the other. */
export function signedBytes(payloadType: string, payload: Uint8Array): Buffer {
  return preAuthEncoding(payloadType, Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
}

/**
 * Read a DSSE envelope. White space is free; all else has one reading: no repeated or unknown key, canonical base64.
 *
 * @returns the envelope, or why the bytes are none. The reason repeats nothing of what they hold.
 */
export function readEnvelope(
  bytes: Uint8Array,
): { ok: true; envelope: UnverifiedEnvelope } | { ok: false; reason: string } {
  if (bytes.byteLength > maxEnvelopeBytes) return { ok: false, reason: `it is over ${maxEnvelopeBytes} bytes` };
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { ok: false, reason: 'it is not UTF-8' };
  }
  const parsed = parseJson(text, { maxBytes: maxEnvelopeBytes, maxDepth: maxEnvelopeDepth });
  if (!parsed.ok)
    return { ok: false, reason: parsed.reason === 'syntax' ? 'it is not JSON' : `its JSON is ${parsed.reason}` };
  // Two readers may take different ones of two equal keys.
  if (hasRepeatedKey(text)) return { ok: false, reason: 'a key occurs twice' };
  const unsafePayloadType = payloadTypeOf(parsed.value);
  // The type is judged after the signature over it: another type with a good signature is another finding.
  const checked = envelopeSchema.safeParse(withType(parsed.value, statementMediaType));
  if (unsafePayloadType === undefined || !checked.success) return { ok: false, reason: 'it is not a DSSE envelope' };
  return decode(checked.data, unsafePayloadType);
}

function payloadTypeOf(value: Json): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return typeof value.payloadType === 'string' && value.payloadType.length <= 255 ? value.payloadType : undefined;
}

const withType = (value: Json, payloadType: string): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value, payloadType } : value;

function decode(envelope: Envelope, unsafePayloadType: string): ReturnType<typeof readEnvelope> {
  const unsafePayload = decodeBase64(envelope.payload);
  const signatures: UnverifiedEnvelope['signatures'] = [];
  for (const { keyid, sig } of envelope.signatures) {
    const bytes = decodeBase64(sig);
    if (bytes === undefined) return { ok: false, reason: 'its base64 is not canonical' };
    signatures.push({ unsafeKeyId: keyid, sig: bytes });
  }
  if (unsafePayload === undefined) return { ok: false, reason: 'its base64 is not canonical' };
  return { ok: true, envelope: { unsafePayloadType, unsafePayload, signatures } };
}

/** Several texts decode to the same bytes where the last digit has unused bits; one of them is taken. */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

export function encodeEnvelope(
  payloadType: Envelope['payloadType'],
  payload: Uint8Array,
  signatures: { keyId: string; sig: Uint8Array }[],
): Envelope {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  return {
    payloadType,
    payload: base64(payload),
    signatures: signatures.map(({ keyId, sig }) => ({ keyid: keyId, sig: base64(sig) })),
  };
}

/** Whether an object in a valid JSON text has a key twice, however it is escaped. */
export function hasRepeatedKey(text: string): boolean {
  /** Keys of the objects that are open; undefined for arrays. */
  const open: (Set<string> | undefined)[] = [];
  let keyIsNext = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '{' || c === '[') {
      open.push(c === '{' ? new Set() : undefined);
      keyIsNext = c === '{';
    } else if (c === '}' || c === ']') {
      open.pop();
      keyIsNext = false;
    } else if (c === ',') {
      keyIsNext = open.at(-1) !== undefined;
    } else if (c === '"') {
      const start = i;
      for (i++; text[i] !== '"'; i++) if (text[i] === '\\') i++;
      if (!keyIsNext) continue;
      const key = JSON.parse(text.slice(start, i + 1)) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return true;
      keys?.add(key);
      keyIsNext = false;
    }
  }
  return false;
}
