import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** In PEM, as a TLS server takes them. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
}

const hourMs = 3_600_000;

/** Object identifiers, encoded. */
const ecdsaWithSha256 = Buffer.from('06082a8648ce3d040302', 'hex');
const commonName = Buffer.from('0603550403', 'hex');
const subjectAltName = Buffer.from('0603551d11', 'hex');

/**
 * A key, and a certificate of it for these names (RFC 5280) that nobody has signed but itself, valid for an hour: a host on
 * which the demo runs may have no openssl.
 */
export function selfSigned(names: readonly string[], nowMs: number): Identity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(ecdsaWithSha256);
  const issuer = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from('Glovebox demo')))));
  const alternatives = sequence(...names.map((name) => der(0x82, Buffer.from(name, 'ascii'))));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    issuer,
    sequence(utcTime(nowMs - hourMs), utcTime(nowMs + hourMs)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, alternatives)))),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', toBeSigned, privateKey));
  const text = sequence(toBeSigned, algorithm, signature).toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${text.trimEnd()}\n-----END CERTIFICATE-----\n`,
  };
}

/** Tag, length and content, in the distinguished encoding. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);

/** Such as 261201120000Z. */
const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
