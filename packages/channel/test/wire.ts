/**
 * Frames written and read by hand, from docs/channel.md and nothing of `src`: what the tests compare the code with, and the
 * voice of a peer that keeps no rule.
 */

export const type = { hello: 1, open: 2, head: 3, data: 4, end: 5, reset: 6, credit: 7, ping: 8, pong: 9 } as const;

export interface Frame {
  type: number;
  flags: number;
  reserved: number;
  id: number;
  payload: Buffer;
}

export function frame(kind: number, id: number, payload: Uint8Array | string = '', flags = 0, reserved = 0): Buffer {
  const body = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const header = Buffer.alloc(12);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt8(kind, 4);
  header.writeUInt8(flags, 5);
  header.writeUInt16BE(reserved, 6);
  header.writeUInt32BE(id, 8);
  return Buffer.concat([header, body]);
}

export interface HelloFields {
  magic: string;
  version: number;
  reserved: number;
  maxFrameBytes: number;
  maxHeadBytes: number;
  streamWindowBytes: number;
  connectionWindowBytes: number;
  maxStreams: number;
  maxOpensPerSecond: number;
}

export const defaults: HelloFields = {
  magic: 'glovebox',
  version: 1,
  reserved: 0,
  maxFrameBytes: 65536,
  maxHeadBytes: 32768,
  streamWindowBytes: 262144,
  connectionWindowBytes: 1048576,
  maxStreams: 64,
  maxOpensPerSecond: 2000,
};

export function hello(changes: Partial<HelloFields> = {}): Buffer {
  const fields = { ...defaults, ...changes };
  const payload = Buffer.alloc(36);
  payload.write(fields.magic, 0, 8, 'latin1');
  payload.writeUInt16BE(fields.version, 8);
  payload.writeUInt16BE(fields.reserved, 10);
  payload.writeUInt32BE(fields.maxFrameBytes, 12);
  payload.writeUInt32BE(fields.maxHeadBytes, 16);
  payload.writeUInt32BE(fields.streamWindowBytes, 20);
  payload.writeUInt32BE(fields.connectionWindowBytes, 24);
  payload.writeUInt32BE(fields.maxStreams, 28);
  payload.writeUInt32BE(fields.maxOpensPerSecond, 32);
  return frame(type.hello, 0, payload);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export const open = (id: number, head = '["GET","http://control.invalid/job"]'): Buffer => frame(type.open, id, head);
export const head = (id: number, text = '[200]'): Buffer => frame(type.head, id, text);
export const data = (id: number, payload: Uint8Array | string): Buffer => frame(type.data, id, payload);
export const end = (id: number): Buffer => frame(type.end, id);
export const reset = (id: number, reason = ''): Buffer => frame(type.reset, id, reason);
export const credit = (id: number, bytes: number): Buffer => frame(type.credit, id, uint32(bytes));

/** Complete frames at the front of `bytes`, and what is left. */
export function parse(bytes: Buffer): { frames: Frame[]; rest: Buffer } {
  const frames: Frame[] = [];
  let at = 0;
  while (bytes.length - at >= 12) {
    const length = bytes.readUInt32BE(at);
    if (bytes.length - at - 12 < length) break;
    frames.push({
      type: bytes.readUInt8(at + 4),
      flags: bytes.readUInt8(at + 5),
      reserved: bytes.readUInt16BE(at + 6),
      id: bytes.readUInt32BE(at + 8),
      payload: bytes.subarray(at + 12, at + 12 + length),
    });
    at += 12 + length;
  }
  return { frames, rest: bytes.subarray(at) };
}
