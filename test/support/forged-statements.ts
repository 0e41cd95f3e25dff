import { createHash, createPrivateKey, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeReferrerManifest } from '@glovebox/artifact';
import { artifactMediaTypes, type Descriptor, type Envelope, type Json } from '@glovebox/contract';

type Statement = { [name: string]: Json } & { predicateType: string; predicate: { [name: string]: Json } };

/** What an envelope says. */
export function statementIn(envelopeText: string): Statement {
  const { payload } = JSON.parse(envelopeText) as Envelope;
  return JSON.parse(Buffer.from(payload, 'base64').toString()) as Statement;
}

/**
 * Sign a changed statement with a private key, by the letter of DSSE and with nothing of the product: what somebody with
 * the key could do who wants to have something verified that is none. Members must come in canonical order.
 */
export function signAgain(envelopeText: string, change: (text: string) => string, privateKeyPem: string): string {
  const envelope = JSON.parse(envelopeText) as Envelope;
  const payload = Buffer.from(change(Buffer.from(envelope.payload, 'base64').toString()));
  const type = Buffer.from(envelope.payloadType);
  const head = (bytes: Buffer): Buffer => Buffer.from(`${bytes.length} `);
  const signed = Buffer.concat([Buffer.from('DSSEv1 '), head(type), type, Buffer.from(' '), head(payload), payload]);
  const sig = sign(null, signed, createPrivateKey(privateKeyPem)).toString('base64');
  const [first] = envelope.signatures;
  return JSON.stringify({
    ...envelope,
    payload: payload.toString('base64'),
    signatures: [{ ...first, sig }],
  });
}

/**
 * Change the attestations in an OCI image layout, with every digest and size that leads to them.
 *
 * @param edit gets the text of each envelope; what it gives null for is left out.
 */
export function editAttestations(layout: string, edit: (envelopeText: string) => string | null): void {
  const index = readJson<{ manifests: Descriptor[] }>(join(layout, 'index.json'));
  const [artifact, list] = index.manifests as [Descriptor, Descriptor];
  const nested = readJson<{ manifests: Descriptor[] }>(blobPath(layout, list.digest));
  const manifests = nested.manifests.flatMap((descriptor) => {
    const manifest = readJson<{ layers: [Descriptor]; subject: Descriptor }>(blobPath(layout, descriptor.digest));
    const edited = edit(readFileSync(blobPath(layout, manifest.layers[0].digest), 'utf8'));
    if (edited === null) return [];
    const envelope = addBlob(layout, Buffer.from(edited));
    const attached = { mediaType: artifactMediaTypes.attestation, ...envelope };
    return [{ ...descriptor, ...addBlob(layout, encodeReferrerManifest(attached, manifest.subject)) }];
  });
  const changed = addBlob(layout, Buffer.from(JSON.stringify({ ...nested, manifests })));
  writeFileSync(
    join(layout, 'index.json'),
    JSON.stringify({ ...index, manifests: [artifact, { ...list, ...changed }] }),
  );
}

function addBlob(layout: string, bytes: Uint8Array): { digest: string; size: number } {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  writeFileSync(blobPath(layout, digest), bytes);
  return { digest, size: bytes.byteLength };
}

/** Where a layout has a blob. */
export const blobPath = (layout: string, digest: string): string =>
  join(layout, 'blobs/sha256', digest.slice('sha256:'.length));

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;
