import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface Question {
  readonly name: string;
  /** 1: A; 28: AAAA. */
  readonly type: number;
}

/** Of a name server: addresses or names as bytes of one kind, a code by which it refuses, or nothing at all. */
export type Reply =
  | { readonly kind: 'records'; readonly records: readonly { type: number; data: Uint8Array; name?: string }[] }
  | { readonly kind: 'refused'; readonly code: number }
  | { readonly kind: 'silent' };

/** A name server on loopback. */
export async function openNameServer(
  answer: (question: Question) => Reply,
): Promise<{ server: string; asked: Question[]; close(): Promise<void> }> {
  const asked: Question[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = readQuestion(query);
    asked.push({ name, type });
    const reply = answer({ name, type });
    if (reply.kind === 'silent') return;
    const records = reply.kind === 'records' ? reply.records : [];
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180 | (reply.kind === 'refused' ? reply.code : 0), 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    const packed = records.map(({ name: of, type, data }) => {
      const rest = Buffer.alloc(10);
      rest.writeUInt16BE(type, 0);
      rest.writeUInt16BE(1, 2);
      rest.writeUInt16BE(data.byteLength, 8);
      return Buffer.concat([of === undefined ? Buffer.of(0xc0, 12) : packName(of), rest, data]);
    });
    socket.send(Buffer.concat([head, query.subarray(12, end), ...packed]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    server: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

export const packName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])),
    Buffer.of(0),
  ]);

function readQuestion(query: Buffer): Question & { end: number } {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const size = query[at] ?? 0;
    labels.push(query.subarray(at + 1, at + 1 + size).toString());
    at += size + 1;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}
