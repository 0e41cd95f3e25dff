import type { Socket } from 'node:net';

type Tls = typeof import('node:tls');

/** What of TLS a client may ask a connection about. The host makes the TLS and checks the certificate; none of it comes in here. */
const answers: { readonly [method: string]: unknown } = {
  getPeerCertificate: {},
  getCertificate: null,
  getPeerX509Certificate: undefined,
  getX509Certificate: undefined,
  getCipher: { name: 'TLS_AES_128_GCM_SHA256', standardName: 'TLS_AES_128_GCM_SHA256', version: 'TLSv1.3' },
  getSharedSigalgs: [],
  getEphemeralKeyInfo: {},
  getFinished: undefined,
  getPeerFinished: undefined,
  getProtocol: 'TLSv1.3',
  getSession: undefined,
  getTLSTicket: undefined,
  isSessionReused: false,
  renegotiate: false,
  setMaxSendFragment: true,
  disableRenegotiation: undefined,
  enableTrace: undefined,
  setServername: undefined,
  setSession: undefined,
  setKeyCert: undefined,
};

export interface TlsOptions {
  ALPNProtocols?: unknown;
  servername?: unknown;
}

/**
 * Let a socket look like one of `node:tls` that is connected and whose certificate was found good, by a class between it and
 * TLSSocket, so that `instanceof` says so too.
 *
 * @param face methods of a socket that leads out of the cell: those of TLSSocket would ask a handle that is not there.
 */
export function makeTlsFace(tls: Tls, face: PropertyDescriptorMap): (socket: Socket, options: TlsOptions) => void {
  const prototype = Object.create(tls.TLSSocket.prototype, face) as object;
  for (const [method, answer] of Object.entries(answers)) {
    Object.defineProperty(prototype, method, { configurable: true, writable: true, value: () => answer });
  }
  return (socket, { ALPNProtocols, servername }) => {
    Object.setPrototypeOf(socket, prototype);
    Object.assign(socket, {
      encrypted: true,
      authorized: true,
      authorizationError: null,
      alpnProtocol: offers(ALPNProtocols, 'http/1.1') ? 'http/1.1' : false,
      servername: typeof servername === 'string' ? servername : false,
      secureConnecting: true,
    });
  };
}

/** Whether a list of protocols, or its form on the wire, names this one. */
export function offers(protocols: unknown, name: string): boolean {
  if (Array.isArray(protocols)) return protocols.some((one) => String(one) === name);
  return (
    protocols instanceof Uint8Array &&
    Buffer.from(protocols).includes(`${String.fromCharCode(name.length)}${name}`, 0, 'latin1')
  );
}
