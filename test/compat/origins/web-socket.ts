import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { acceptOf } from '../../../packages/guest/test/websocket.ts';

const continuation = 0;
const close = 8;
const ping = 9;
const pong = 10;

/** A server of WebSocket that sends back each message, frame by frame, answers pings, and closes as it is closed. RFC 6455. */
export function echoMessages(request: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => {});
  const protocol = request.headers['sec-websocket-protocol']?.split(',')[0];
  socket.write(
    [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${acceptOf(request.headers['sec-websocket-key'] ?? '')}`,
      ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      '\r\n',
    ].join('\r\n'),
  );
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = takeFrame(rest); frame !== undefined; frame = takeFrame(rest)) {
      rest = rest.subarray(frame.size);
      const opcode = frame.first & 0x0f;
      if (opcode === ping) socket.write(frameOf(0x80 | pong, frame.payload));
      else if (opcode === close || opcode <= 2 || opcode === continuation)
        socket.write(frameOf(frame.first, frame.payload));
      if (opcode === close) socket.end();
    }
  });
}

/** The first whole frame, unmasked; undefined where it has not all come yet. */
function takeFrame(bytes: Buffer): { first: number; payload: Buffer; size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] as number) & 0x7f;
  const headBytes = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < headBytes) return undefined;
  const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  const size = headBytes + 4 + length;
  if (bytes.length < size) return undefined;
  const mask = bytes.subarray(headBytes, headBytes + 4);
  const payload = Buffer.from(bytes.subarray(headBytes + 4, size).map((byte, i) => byte ^ (mask[i & 3] as number)));
  return { first: bytes[0] as number, payload, size };
}

function frameOf(first: number, payload: Buffer): Buffer {
  const length = payload.length;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  if (length < 126) head[1] = length;
  else if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
}
