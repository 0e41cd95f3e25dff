import http from 'node:http';
import https from 'node:https';
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
  const secure: https.RequestOptions = {
    host,
    port,
    ca: tls.ca,
    cert: tls.cert,
    key: tls.key,
    minVersion: 'TLSv1.2',
    // Said here, so that no variable of the environment turns it off.
    rejectUnauthorized: true,
    agent: false,
    maxHeaderSize,
  };
  return (options) => https.request({ ...options, ...secure });
}

const unusable = (why: string): GloveboxError =>
  new GloveboxError('ENGINE_UNREACHABLE', {
    message: `The address of the container engine cannot be used: ${why}.`,
    hint: 'Use unix:///path/of/socket, or tcp://host:port with ca, cert and key.',
  });

/** For people; holds no key. */
export const addressText = (address: EngineAddress): string =>
  'socketPath' in address ? `unix://${address.socketPath}` : `tcp://${address.host}:${address.port}`;
