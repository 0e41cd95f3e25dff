import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { Target } from './api.ts';
import { pieceBytes } from './dial-body.ts';
import { dialFailure } from './dial-failure.ts';

/** A client's own certificate, as `node:tls` takes it. */
export interface TlsIdentity {
  readonly cert?: string | Buffer | (string | Buffer)[];
  readonly key?: string | Buffer | (string | Buffer)[];
  readonly passphrase?: string;
}

export interface DialTls {
  /**
   * Speak TLS 1.2 or later on a connected socket, with the name and the certificate of the target and no other. No session is
   * ever taken up again: a ticket of one scope would tell the other side that another one belongs to it.
   *
   * @throws GloveboxError `EGRESS_FAILED` (`TLS_FAILED` or `CONNECTION_LOST`), or the signal's reason.
   */
  secure(
    bare: Socket,
    target: Pick<Target, 'host' | 'literal'>,
    protocols: readonly string[],
    signal: AbortSignal,
    identity?: TlsIdentity,
  ): Promise<TLSSocket>;
}

/** `@types/node` has it for sockets alone. */
const streamOptions = { highWaterMark: pieceBytes };

/**
 * @param extraCa in PEM, beside the others. Reading all of them takes tens of milliseconds: once, at the first use.
 * @param roots in PEM, in place of those of Node.js where there are any.
 */
export function openDialTls(extraCa: readonly string[], roots: readonly string[] = []): DialTls {
  let shared: SecureContext | undefined;
  const contextOf = (identity: TlsIdentity | undefined): SecureContext => {
    const isOwn = extraCa.length > 0 || roots.length > 0;
    const ca = isOwn ? { ca: [...(roots.length > 0 ? roots : getCACertificates('default')), ...extraCa] } : {};
    // A server could have the client shake hands over and over. Some that want its certificate for one path alone need it once.
    const secureOptions = identity === undefined ? constants.SSL_OP_NO_RENEGOTIATION : 0;
    const make = (): SecureContext => createSecureContext({ ...ca, ...identity, secureOptions, minVersion: 'TLSv1.2' });
    if (identity !== undefined) return make();
    shared ??= make();
    return shared;
  };
  return {
    secure(bare, { host, literal }, protocols, signal, identity) {
      return new Promise((resolve, reject) => {
        const socket = connectTls({
          socket: bare,
          host,
          // An address has no place in SNI (RFC 6066, section 3); its certificate is checked against it all the same.
          servername: literal === undefined ? host : '',
          ALPNProtocols: [...protocols],
          ...streamOptions,
          secureContext: contextOf(identity),
          // Said here, so that no variable of the environment can say otherwise.
          rejectUnauthorized: true,
          checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
        });
        const settle = (then: () => void): void => {
          signal.removeEventListener('abort', onAbort);
          then();
        };
        const fail = (error: unknown): void => {
          socket.destroy();
          bare.destroy();
          settle(() => reject(error));
        };
        const onAbort = (): void => fail(signal.reason);
        socket.on('error', (error) => fail(tlsFailure(error, host)));
        socket.once('close', () => fail(tlsFailure({ code: 'ECONNRESET' }, host)));
        socket.once('secureConnect', () => settle(() => resolve(socket)));
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}

/** Only codes are told: a certificate's own text is the other side's. */
function tlsFailure(error: unknown, host: string): Error {
  const { code } = error as { code?: unknown };
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return dialFailure('CONNECTION_LOST', `${host}: the connection was lost before TLS was agreed on.`);
  const name = typeof code === 'string' ? code : 'unknown';
  const text = `${host}: TLS cannot be agreed on, or the certificate is not one for it (${name}).`;
  return dialFailure('TLS_FAILED', text, { code: name });
}
