import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { Identity } from './ca.ts';

/** Types of frames (RFC 9113, section 6). */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;
export const endHeaders = 0x4;
/** A header block in which `:status` is 200, by the static table of HPACK. */
export const status200 = Buffer.of(0x88);

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.byteLength, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** An origin on loopback that speaks HTTP/2 over TLS as badly as a test wants. It greets and acknowledges settings by itself. */
export async function openFrames(
  identity: Identity,
  answer: (received: Frame, socket: TLSSocket) => void,
): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer({ ...identity, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {});
    socket.write(frame(frameTypes.settings, 0, 0));
    let kept = Buffer.alloc(0);
    let greeted = false;
    socket.on('data', (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk]);
      // The preface of the client.
      if (!greeted && kept.length >= 24) {
        greeted = true;
        kept = kept.subarray(24);
      }
      while (greeted && kept.length >= 9 && kept.length >= 9 + kept.readUIntBE(0, 3)) {
        const size = kept.readUIntBE(0, 3);
        const received: Frame = {
          type: kept[3] ?? 0,
          flags: kept[4] ?? 0,
          stream: kept.readUInt32BE(5),
          payload: kept.subarray(9, 9 + size),
        };
        kept = kept.subarray(9 + size);
        const isSettings = received.type === frameTypes.settings && received.flags === 0;
        if (isSettings) socket.write(frame(frameTypes.settings, 0x1, 0));
        answer(received, socket);
      }
    });
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
