import type { Duplex } from 'node:stream';

/**
 * Limits of one connection, enforced by the receiving end. Breaking one is `CHANNEL_ABUSE`; bytes that are no valid
 * frame are `CHANNEL_CORRUPTED`. The defaults are those of docs/channel.md.
 */
export interface ChannelLimits {
  /** Streams open at once. */
  maxStreams: number;
  /** Payload of one frame. */
  maxFrameBytes: number;
  /** OPEN frames in any one second. */
  maxOpensPerSecond: number;
  /** JSON head of a request or an answer. */
  maxHeadBytes: number;
  /** Unread bytes that a stream, and the connection, may have on their way. */
  streamWindowBytes: number;
  connectionWindowBytes: number;
}

export interface RequestHead {
  method: string;
  /** Absolute URL; its authority tells the control plane from the rest. */
  url: string;
  /** Lower-case names. */
  headers: { [name: string]: string };
}

export interface ResponseHead {
  status: number;
  headers: { [name: string]: string };
}

/** How a connection ended. `closed`: the other side closed its end between frames. */
export type ChannelEnd =
  | { kind: 'closed' }
  | { kind: 'abuse'; rule: string; detail: string }
  | { kind: 'corrupted'; detail: string }
  | { kind: 'lost'; detail: string };

/** The sending half of a stream. */
export interface BodyWriter {
  /**
   * Resolves when the bytes are handed to the transport within credit; rejects when the stream was reset or the connection
   * ended. The bytes are not copied: do not change them afterwards. What is written without waiting is kept.
   *
   * @throws ChannelError `CHANNEL_MISUSE` after `end`, and on a server before `respond`. A rejection nobody looks at is fine.
   */
  write(chunk: Uint8Array): Promise<void>;
  /** Once, after the last write. Without effect when the stream was reset or the connection ended. @throws as `write` does. */
  end(): void;
}

/** A request as the guest sees it. */
export interface ClientStream extends BodyWriter {
  readonly response: Promise<ResponseHead>;
  /**
   * The answer's body, for one reader. Reading gives credit, so an unread body stops its sender, and holds its part of the
   * connection's window. Leaving the loop early resets the stream.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Give up both directions; also without effect when all is over. The reason is cut to 256 characters of printable ASCII. */
  reset(reason: string): void;
}

/** A request as the host sees it. */
export interface ServerStream extends BodyWriter {
  readonly id: number;
  readonly head: RequestHead;
  /**
   * For one reader. A chunk may be a view of a larger buffer. Leaving the loop early, or answering to the end without a look
   * at it, drops the rest as it comes.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Once, before the first write. Without effect when the stream was reset.
   * @throws ChannelError `CHANNEL_HEAD_INVALID` for a head that cannot travel; nothing is sent, another may be tried.
   */
  respond(head: ResponseHead): void;
  reset(reason: string): void;
  /** Aborted when either side resets the stream or the connection ends. */
  readonly signal: AbortSignal;
}

export interface ChannelClient {
  /** @throws ChannelError `CHANNEL_CLOSED`, `CHANNEL_STREAM_LIMIT`, or `CHANNEL_HEAD_INVALID` for a head that cannot travel. */
  open(head: RequestHead): ClientStream;
  /** How many more streams may be open at once. A stream that is over counts until the answer's end, or its RESET, is read. */
  readonly room: number;
  /** Hand over now, not at the end of the running task, what there is credit and room for: before code that may never yield. */
  flush(): void;
  readonly ended: Promise<ChannelEnd>;
  close(): void;
}

export interface ChannelServer {
  /** Round trip in ms; rejects when the connection ends. Diagnosis only: a busy guest cannot answer. */
  ping(): Promise<number>;
  readonly ended: Promise<ChannelEnd>;
  /** Resets every stream, refuses new ones, ends the transport. */
  close(): void;
  /** Totals so far; `streams` counts those opened. */
  readonly stats: { readonly bytesIn: number; readonly bytesOut: number; readonly streams: number };
}

export type ConnectClient = (transport: Duplex, limits?: Partial<ChannelLimits>) => ChannelClient;
export type ServeChannel = (
  transport: Duplex,
  onStream: (stream: ServerStream) => void,
  limits?: Partial<ChannelLimits>,
) => ChannelServer;
