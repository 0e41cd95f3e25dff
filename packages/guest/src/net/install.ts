import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { makeSocketKit } from './cell-socket.ts';
import { type ConnectOptions, targetOf } from './connect-target.ts';
import { httpOnly } from './egress-error.ts';
import type { Exchanges } from './exchange.ts';
import type { Origin } from './request-head.ts';
import { makeTlsFace, offers, type TlsOptions } from './tls-face.ts';

const loadBuiltin = process.getBuiltinModule.bind(process);

type Listener = (...args: unknown[]) => void;
type Normalized = [
  options: ConnectOptions & TlsOptions & { timeout?: number; socket?: unknown },
  listener: Listener | null,
];

/**
 * An `import` of a built-in module reads all that it exports, and three exports of `node:http` are made when they are read: by
 * loading the whole of the built-in fetch, most of what such an import costs. They are still there for who asks for them as
 * properties, and as globals; but `import { WebSocket } from 'node:http'` finds none.
 */
function hideCostlyExports(http: typeof import('node:http')): void {
  for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent']) {
    const descriptor = Object.getOwnPropertyDescriptor(http, name);
    if (descriptor?.get) Object.defineProperty(http, name, { ...descriptor, enumerable: false });
  }
}

/**
 * Make `node:net` and `node:tls` connect by way of the channel, and with them whatever is made from them: `node:http` and
 * `node:https` with their agents, the built-in fetch and WebSocket, HTTP clients of npm. None of those is touched itself.
 *
 * Before author code is loaded, so that its imports by name find these functions.
 *
 * @returns a function that breaks connections which wait for the other side to speak first, for when nothing else can happen.
 */
export function installConnections(exchanges: Exchanges): () => boolean {
  const net = loadBuiltin('node:net');
  const tls = loadBuiltin('node:tls');
  const http = loadBuiltin('node:http');
  hideCostlyExports(http);
  const phraseOf = (status: number): string => http.STATUS_CODES[status] ?? '';
  const kit = makeSocketKit(net, exchanges, phraseOf);
  const wearTls = makeTlsFace(tls, kit.face);
  // Not in its types, but what HTTP clients have come to call as well.
  const normalize = (net as unknown as { _normalizeArgs(args: unknown[]): Normalized })._normalizeArgs;

  /** Fails as a connection does: by an event, once whoever asked for it can listen. */
  const lead = (socket: Socket, target: () => Origin, after?: () => void): void => {
    let origin: Origin;
    try {
      origin = target();
    } catch (error) {
      // RangeError of a port, as Node.js throws it.
      if (error instanceof RangeError) throw error;
      process.nextTick(() => socket.destroy(error as Error));
      return;
    }
    kit.open(socket, origin, after);
  };

  const connectNet = (...args: unknown[]): Socket => {
    const [options, listener] = normalize(args);
    const socket = kit.make(options);
    if (options.timeout) socket.setTimeout(options.timeout);
    if (listener) socket.once('connect', listener);
    lead(socket, () => targetOf('http', options));
    return socket;
  };

  const connectTls = (...args: unknown[]): TLSSocket => {
    const [first, listener] = normalize(args);
    // tls.connect(port, host, options, listener) and tls.connect(port, options, listener).
    const more = args.find((arg, i) => i > 0 && typeof arg === 'object' && arg !== null);
    const options = { ...first, ...(more as object | undefined) };
    const socket = kit.make({ ...options, socket: undefined });
    wearTls(socket, options);
    if (options.timeout) socket.setTimeout(options.timeout);
    if (listener) socket.once('secureConnect', listener);
    lead(
      socket,
      () => tlsTarget(options),
      () => {
        (socket as TLSSocket & { secureConnecting: boolean }).secureConnecting = false;
        socket.emit('secureConnect');
      },
    );
    return socket as TLSSocket;
  };

  const tlsTarget = (options: Normalized[0]): Origin => {
    const { ALPNProtocols, socket } = options;
    if (offers(ALPNProtocols, 'h2') && !offers(ALPNProtocols, 'http/1.1') && !offers(ALPNProtocols, 'http/1.0'))
      throw httpOnly('A connection for HTTP/2 alone was to be opened');
    if (socket === undefined || socket === null) return targetOf('https', options);
    // TLS over a connection that is there: where nothing was said on it yet, it is TLS to where that one leads.
    const under = kit.isFresh(socket);
    if (!under) throw httpOnly('TLS was to be spoken within another connection');
    return { ...under, scheme: 'https' };
  };

  const connectSocket = function (this: Socket, ...args: unknown[]): Socket {
    const [first] = args;
    // As internal callers pass it: normalized already.
    const [options, listener] = Array.isArray(first) ? (first as Normalized) : normalize(args);
    if (listener) this.once('connect', listener);
    if (this instanceof tls.TLSSocket)
      process.nextTick(() => this.destroy(httpOnly('TLS was to be spoken in the cell')));
    else {
      // As Node.js does it: a socket that was closed may connect anew.
      if (this.destroyed) (this as unknown as { _undestroy(): void })._undestroy();
      lead(this, () => targetOf('http', options));
    }
    return this;
  };

  Object.assign(net, { connect: connectNet, createConnection: connectNet });
  Object.assign(tls, { connect: connectTls });
  Object.assign(net.Socket.prototype, { connect: connectSocket });
  // Node.js asks the kernel by a socket of a kind that a cell has not, and throws; libraries that look for a cloud's expect an answer.
  Object.assign(loadBuiltin('node:os'), { networkInterfaces: () => ({}) });
  // For imports by name, also of modules that are loaded already.
  loadBuiltin('node:module').syncBuiltinESMExports();
  return kit.giveUpSilent;
}
