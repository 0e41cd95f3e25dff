import type { ChannelEnd, ChannelLimits } from './api.ts';
import { limitInRange } from './limits.ts';

/** docs/channel.md is the specification; this file has its numbers. */
export const protocolVersion = 1;
export const headerBytes = 12;
export const helloBytes = 36;
export const maxReasonBytes = 256;
export const maxStreamId = 0x7fff_ffff;

export const frameType = {
  hello: 1,
  open: 2,
  head: 3,
  data: 4,
  end: 5,
  reset: 6,
  credit: 7,
  ping: 8,
  pong: 9,
} as const;
export type FrameType = (typeof frameType)[keyof typeof frameType];

/** Which end of the connection this is. */
export type Role = 'client' | 'server';

export type Violation = Extract<ChannelEnd, { kind: 'abuse' | 'corrupted' }>;
export const corrupted = (detail: string): Violation => ({ kind: 'corrupted', detail });
export const abuse = (rule: string, detail: string): Violation => ({ kind: 'abuse', rule, detail });

export function readUint32(bytes: Uint8Array, offset: number): number {
  return (
    (bytes[offset] as number) * 0x1000000 +
    ((bytes[offset + 1] as number) << 16) +
    ((bytes[offset + 2] as number) << 8) +
    (bytes[offset + 3] as number)
  );
}

export function writeUint32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}

export function writeHeader(
  bytes: Uint8Array,
  offset: number,
  type: FrameType,
  streamId: number,
  length: number,
): void {
  writeUint32(bytes, offset, length);
  bytes[offset + 4] = type;
  bytes[offset + 5] = 0;
  bytes[offset + 6] = 0;
  bytes[offset + 7] = 0;
  writeUint32(bytes, offset + 8, streamId);
}

/**
 * What is wrong with a header that `role` has received, before a byte of the payload is stored: type, direction, reserved
 * bytes, kind of stream id, length.
 */
export function headerViolation(
  bytes: Uint8Array,
  offset: number,
  role: Role,
  limits: ChannelLimits,
): Violation | undefined {
  const length = readUint32(bytes, offset);
  const type = bytes[offset + 4] as number;
  const streamId = readUint32(bytes, offset + 8);
  if (bytes[offset + 5] !== 0 || bytes[offset + 6] !== 0 || bytes[offset + 7] !== 0)
    return corrupted('reserved bytes of a header are not 0');
  if (type < frameType.hello || type > frameType.pong) return corrupted(`frame type ${type} is unknown`);
  if (length > limits.maxFrameBytes) return corrupted(`a frame of ${length} bytes`);
  const isStream = streamId % 2 === 1 && streamId <= maxStreamId;
  const onStream = (type >= frameType.open && type <= frameType.reset) || (type === frameType.credit && streamId !== 0);
  if (onStream ? !isStream : streamId !== 0) return corrupted(`a frame of type ${type} has stream id ${streamId}`);
  switch (type) {
    case frameType.hello:
      return length === helloBytes ? undefined : corrupted(`HELLO has ${length} bytes`);
    case frameType.open:
    case frameType.head:
      // Each end takes one of the two: only the client opens streams, only the server answers.
      if ((type === frameType.open) !== (role === 'server'))
        return corrupted(`a frame of type ${type} goes the other way only`);
      return length <= limits.maxHeadBytes ? undefined : abuse('head-size', `a head of ${length} bytes`);
    case frameType.data:
      // Without a payload DATA would cost no credit, and could be sent for ever.
      return length > 0 ? undefined : abuse('empty-data', 'a DATA frame without a payload');
    case frameType.end:
      return length === 0 ? undefined : corrupted(`END has ${length} bytes`);
    case frameType.reset:
      return length <= maxReasonBytes ? undefined : corrupted(`RESET has ${length} bytes`);
    case frameType.credit:
      return length === 4 ? undefined : corrupted(`CREDIT has ${length} bytes`);
    default:
      // Only the server pings, so a cell has no means to make the host answer.
      if ((type === frameType.pong) !== (role === 'server'))
        return corrupted(`a frame of type ${type} goes the other way only`);
      return length === 4 ? undefined : corrupted(`a frame of type ${type} has ${length} bytes`);
  }
}

/** What one end accepts, as it tells the other in its HELLO. */
export type AnnouncedLimits = ChannelLimits;

const magic = [0x67, 0x6c, 0x6f, 0x76, 0x65, 0x62, 0x6f, 0x78] as const; // glovebox

export function encodeHello(limits: ChannelLimits): Uint8Array {
  const bytes = new Uint8Array(helloBytes);
  for (let i = 0; i < magic.length; i++) bytes[i] = magic[i] as number;
  bytes[8] = protocolVersion >>> 8;
  bytes[9] = protocolVersion;
  writeUint32(bytes, 12, limits.maxFrameBytes);
  writeUint32(bytes, 16, limits.maxHeadBytes);
  writeUint32(bytes, 20, limits.streamWindowBytes);
  writeUint32(bytes, 24, limits.connectionWindowBytes);
  writeUint32(bytes, 28, limits.maxStreams);
  writeUint32(bytes, 32, limits.maxOpensPerSecond);
  return bytes;
}

export function decodeHello(bytes: Uint8Array, offset: number): AnnouncedLimits | Violation {
  for (let i = 0; i < magic.length; i++)
    if (bytes[offset + i] !== magic[i]) return corrupted('HELLO does not begin with glovebox');
  const version = ((bytes[offset + 8] as number) << 8) + (bytes[offset + 9] as number);
  if (version !== protocolVersion)
    return corrupted(`the other side speaks version ${version}, this one ${protocolVersion}`);
  if (bytes[offset + 10] !== 0 || bytes[offset + 11] !== 0) return corrupted('reserved bytes of HELLO are not 0');
  const announced = {
    __proto__: null,
    maxFrameBytes: readUint32(bytes, offset + 12),
    maxHeadBytes: readUint32(bytes, offset + 16),
    streamWindowBytes: readUint32(bytes, offset + 20),
    connectionWindowBytes: readUint32(bytes, offset + 24),
    maxStreams: readUint32(bytes, offset + 28),
    maxOpensPerSecond: readUint32(bytes, offset + 32),
  } as AnnouncedLimits;
  if (!limitInRange('maxFrameBytes', announced.maxFrameBytes))
    return corrupted('HELLO announces a frame size out of range');
  if (!limitInRange('maxHeadBytes', announced.maxHeadBytes))
    return corrupted('HELLO announces a head size out of range');
  if (announced.maxHeadBytes > announced.maxFrameBytes)
    return corrupted('HELLO announces heads that are larger than a frame');
  if (!limitInRange('streamWindowBytes', announced.streamWindowBytes))
    return corrupted('HELLO announces a stream window out of range');
  if (!limitInRange('connectionWindowBytes', announced.connectionWindowBytes))
    return corrupted('HELLO announces a connection window out of range');
  if (!limitInRange('maxStreams', announced.maxStreams))
    return corrupted('HELLO announces a stream limit out of range');
  if (!limitInRange('maxOpensPerSecond', announced.maxOpensPerSecond))
    return corrupted('HELLO announces an open rate out of range');
  return announced;
}
