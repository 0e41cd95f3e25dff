import { X509Certificate } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { isIP, isIPv6 } from 'node:net';
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls';
import { GloveboxError } from '@glovebox/contract';

/**
 * Where an engine listens. Whoever may speak to it has the rights of root on its host, so there is no plain TCP: both ends
 * show a certificate. `ca`, `cert` and `key` are PEM texts.
 */
export type EngineAddress =
  | { socketPath: string }
  | { host: string; port: number; tls: { ca: string; cert: string; key: string } };

/** The one way of opening a request to an address. Each has a connection of its own, which is closed after it. */
export type OpenRequest = (options: http.RequestOptions) => http.ClientRequest;

/** More than the headers of any answer; what is longer is no answer of an engine. */
const maxHeaderSize = 16 * 1024;

/** @throws GloveboxError `ENGINE_UNREACHABLE` for an address that cannot be one, plain TCP among them. */
export function requestsTo(address: EngineAddress): OpenRequest {
  if ('socketPath' in address) {
    const { socketPath } = address;
    if (!socketPath.startsWith('/')) throw unusable('a socket is named by an absolute path');
    return (options) => http.request({ ...options, socketPath, agent: false, maxHeaderSize });
  }
  const { host, port, tls } = address;
  if (!tls?.ca || !tls.cert || !tls.key)
    throw unusable('over TCP an engine is spoken to with TLS and certificates alone');
  const secure: https.RequestOptions & Pick<ConnectionOptions, 'secureContext'> = {
    host,
    port,
    // The name that the engine must have a certificate for. Left out, it would be taken from the header Host. An address is no
    // name to ask for, and is held against the certificate by itself.
    servername: isIP(host) === 0 ? host : '',
    secureContext: contextOf(tls),
    // Said here, so that no variable of the environment turns it off.
    rejectUnauthorized: true,
    agent: false,
    maxHeaderSize,
  };
  return (options) => https.request({ ...options, ...secure });
}

/** @throws GloveboxError `ENGINE_UNREACHABLE` for what are no certificates, or not those of the key. */
function contextOf({ ca, cert, key }: { ca: string; cert: string; key: string }): SecureContext {
  const part = <T>(name: string, read: () => T): T => {
    try {
      return read();
    } catch (thrown) {
      throw unusable(`${name} cannot be read`, thrown);
    }
  };
  // An authority that is none would be passed over, and every engine refused as a stranger's.
  part('the certificate of its authority', () => new X509Certificate(ca));
  part('our certificate', () => new X509Certificate(cert));
  return part('the key of our certificate', () => createSecureContext({ ca, cert, key, minVersion: 'TLSv1.2' }));
}

/** In words, by what a certificate of the engine's fails; by Node's codes. */
const certificateWords: readonly [code: RegExp, words: string][] = [
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for another name'],
  [/^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/, 'its certificate is not valid at this time'],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|INVALID_CA|INVALID_PURPOSE)/,
    'its certificate is not of the authority that is configured for it',
  ],
];

/** By OpenSSL's words, which come in either as a code or within a text that names a line of its source. */
const handshakeWords: readonly [said: RegExp, words: string][] = [
  [/wrong.version.number|packet.length.too.long/i, 'it does not speak TLS'],
  [/unsupported.protocol|protocol.version/i, 'it speaks no TLS of version 1.2 or newer'],
  [/alert/i, 'it does not take our certificate'],
  [/^/, 'it and we do not agree on how to speak TLS'],
];

/** @returns undefined for a failure that is none of TLS. */
export function handshakeFailure(code: string, message: string): string | undefined {
  const words = certificateWords.find(([pattern]) => pattern.test(code))?.[1];
  if (words !== undefined || !/^(EPROTO$|ERR_SSL_)/.test(code)) return words;
  return handshakeWords.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
}

const unusable = (why: string, cause?: unknown): GloveboxError =>
  new GloveboxError('ENGINE_UNREACHABLE', {
    message: `The address of the container engine cannot be used: ${why}.`,
    hint: 'Use unix:///path/of/socket, or tcp://host:port with ca, cert and key.',
    cause,
  });

/** For people; holds no key. */
export const addressText = (address: EngineAddress): string =>
  'socketPath' in address
    ? `unix://${address.socketPath}`
    : `tcp://${isIPv6(address.host) ? `[${address.host}]` : address.host}:${address.port}`;
