import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { nextTick } from '../harness/primordials.ts';
import { Conversation, type PhraseOf } from './conversation.ts';
import type { Exchanges } from './exchange.ts';
import type { Origin } from './request-head.ts';

type Net = typeof import('node:net');
type Done = (error?: Error | null) => void;

/** Where the far end of a socket is kept. Not a private field: a socket that the node made itself gets one when it connects. */
const far: unique symbol = Symbol('glovebox.far');
const bytesIn: unique symbol = Symbol('glovebox.bytesIn');
const bytesOut: unique symbol = Symbol('glovebox.bytesOut');

interface Reached extends Socket {
  [far]?: Conversation;
  /** What was read, and what was written and taken, since it connected. */
  [bytesIn]?: number;
  [bytesOut]?: number;
}

export interface SocketKit {
  /** A socket as `net.connect` would make it, not connected yet. */
  make(options: object): Socket;
  /** Let `socket`, whoever made it, lead to `origin`. Emits `connect` in the next tick, and then what `after` does. */
  open(socket: Socket, origin: Origin, after?: () => void): void;
  /** Break what waits for the other side to speak first. @returns whether anything did. */
  giveUpSilent(): boolean;
  /** Whether it was opened and nothing has been written to it. */
  isFresh(socket: unknown): Origin | undefined;
  /** Methods and accessors of a socket that leads out of the cell. */
  readonly face: PropertyDescriptorMap;
}

/**
 * Sockets without a handle: what is written to one goes to a Conversation in the same process, and what that says is read from it.
 * In all else they are those of `node:net`.
 */
export function makeSocketKit(net: Net, exchanges: Exchanges, phraseOf: PhraseOf): SocketKit {
  const opened = new Set<Reached>();
  const origins = new WeakMap<Socket, Origin>();

  class CellSocket extends net.Socket {
    [far]?: Conversation;

    override _read(): void {
      this[far]?.resume();
    }
    override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
      receive(this, bytesOf(chunk, encoding), done);
    }
    override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done): void {
      receive(this, Buffer.concat(chunks.map(({ chunk, encoding }) => bytesOf(chunk, encoding))), done);
    }
    override _final(done: Done): void {
      this[far]?.hangUp();
      done();
    }
    override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
      opened.delete(this);
      this[far]?.abandon();
      super._destroy(error, done);
    }
    /** Only requests keep a cell alive, and they do so themselves. */
    override ref(): this {
      return this;
    }
    override unref(): this {
      return this;
    }
    override resetAndDestroy(): this {
      return this.destroy();
    }
  }

  const { constructor: _, ...face } = {
    ...(Object.getOwnPropertyDescriptors(CellSocket.prototype) as PropertyDescriptorMap),
    pending: {
      configurable: true,
      get(this: Socket) {
        return this.connecting;
      },
    },
    // Those of `node:net` ask the handle.
    bytesRead: {
      configurable: true,
      get(this: Reached) {
        return this[bytesIn] ?? 0;
      },
    },
    bytesWritten: {
      configurable: true,
      get(this: Reached) {
        return (this[bytesOut] ?? 0) + this.writableLength;
      },
    },
  };
  Object.defineProperties(CellSocket.prototype, face);

  const open = (socket: Reached, origin: Origin, after?: () => void): void => {
    if (socket._write !== CellSocket.prototype._write) adopt(socket);
    opened.add(socket);
    origins.set(socket, origin);
    Object.assign(socket, { [bytesIn]: 0, [bytesOut]: 0 });
    socket[far] = new Conversation(origin, exchanges, phraseOf, {
      push: (bytes) => {
        touch(socket);
        if (bytes !== null) socket[bytesIn] = (socket[bytesIn] ?? 0) + bytes.length;
        return !socket.destroyed && socket.push(bytes);
      },
      fail: (error) => breakOff(socket, error),
    });
    setConnecting(socket, true);
    nextTick(() => {
      if (socket.destroyed) return;
      setConnecting(socket, false);
      for (const event of ['connect', 'ready']) if (!socket.destroyed) socket.emit(event);
      if (!socket.destroyed) after?.();
    });
  };

  /** A plain socket gets the class; one of a class of the node's keeps that, under methods of its own. */
  const adopt = (socket: Socket): void => {
    if (Object.getPrototypeOf(socket) === net.Socket.prototype) Object.setPrototypeOf(socket, CellSocket.prototype);
    else Object.defineProperties(socket, face);
  };

  return {
    make: (options) => new CellSocket(options),
    open,
    giveUpSilent: () => {
      let any = false;
      for (const socket of [...opened]) any = socket[far]?.giveUpIfSilent() === true || any;
      return any;
    },
    isFresh: (socket) => {
      const reached = socket as Reached | null;
      return reached?.[far]?.silent === true ? origins.get(reached) : undefined;
    },
    face,
  };
}

function receive(socket: Reached, bytes: Buffer, done: Done): void {
  touch(socket);
  const conversation = socket[far];
  const taken = (): void => {
    socket[bytesOut] = (socket[bytesOut] ?? 0) + bytes.length;
    done();
  };
  if (conversation) conversation.receive(bytes, taken);
  else done(new Error('This socket was never connected'));
}

const setConnecting = (socket: Socket, connecting: boolean): unknown => Object.assign(socket, { connecting });

/** An answer that `node:http` has begun to give would else end as `aborted`, and why is lost to whoever reads it. */
function breakOff(socket: Socket, error: Error): void {
  const { _httpMessage: request } = socket as unknown as { _httpMessage?: { res?: IncomingMessage } };
  const answer = request?.res;
  if (answer && !answer.complete && answer.listenerCount('error') > 0) answer.destroy(error);
  socket.destroy(error);
}

/** Puts off the socket's own timeout, as traffic does. */
const touch = (socket: Socket): void => (socket as unknown as { _unrefTimer(): void })._unrefTimer();

const bytesOf = (chunk: Buffer | string, encoding: BufferEncoding): Buffer =>
  typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
