import type { Duplex } from 'node:stream';
import type { ChannelEnd, ChannelLimits, RequestHead } from './api.ts';
import { ReceiveCredit } from './credit.ts';
import { FrameDecoder, type FrameSink } from './decoder.ts';
import { ChannelError } from './errors.ts';
import {
  type AnnouncedLimits,
  abuse,
  corrupted,
  decodeHello,
  type FrameType,
  frameType,
  maxReasonBytes,
  maxStreamId,
  type Role,
  readUint32,
  type Violation,
} from './frame.ts';
import { cleanReason, decodeRequestHead, decodeResponseHead } from './head.ts';
import { OpenLimit } from './open-rate.ts';
import {
  byteLengthOf,
  isView,
  latin1Slice,
  max,
  min,
  monotonicMs,
  nextTick,
  startTimer,
  stopTimer,
} from './primordials.ts';
import { type Deferred, defer } from './promises.ts';
import { Sender } from './sender.ts';
import type { Stream } from './stream.ts';
import { StreamTable } from './stream-table.ts';

/** A server reads so many frames in so many ms, then pauses. */
const pacedFrames = 2048;
const pacedMs = 25;
/** What a server drops of bodies that it answered unread, over all streams: an honest client stops at the answer. */
const droppedBytes = 1024 * 1024 * 1024;
/** How long a transport may take to send what it holds after `close`. */
const lingerMs = 1000;

/** What a server does with OPEN. */
export interface StreamTaker {
  /** Make the stream that stands for it. */
  make(connection: Connection, id: number, head: RequestHead): Stream;
  /** Hand it to its user. */
  announce(stream: Stream): void;
}

export interface ConnectionExtras {
  /** A server's. */
  taker?: StreamTaker;
  /** What to do to a view before it is handed to the transport. */
  seal?: (view: Uint8Array) => void;
}

/**
 * One end of a connection: takes frames, keeps the rules, ends. `Sender` has the other direction. Both ends are the same
 * code; they differ where a role is named.
 */
export class Connection implements FrameSink {
  readonly ended: Promise<ChannelEnd>;
  readonly #ended: Deferred<ChannelEnd> = defer();
  readonly #role: Role;
  readonly #transport: Duplex;
  readonly #limits: ChannelLimits;
  readonly #taker: StreamTaker | undefined;
  readonly #decoder: FrameDecoder;
  readonly #streams: StreamTable;
  readonly #received: ReceiveCredit;
  readonly #sender: Sender;
  readonly #openLimit: OpenLimit | undefined;
  /** What the other side accepts; undefined until its HELLO. */
  #peer: AnnouncedLimits | undefined;
  #end: ChannelEnd | undefined;
  #highestId = 0;
  #bytesIn = 0;
  #bytesDropped = 0;
  #ping: { nonce: number; sentMs: number | undefined; answered: Deferred<number> } | undefined;
  #pings = 0;
  #pacedFrom = 0;
  #pacedSinceMs = 0;
  /** What of a chunk waits for its time, and for how long. */
  #rest: { readonly bytes: Uint8Array; readonly at: number; readonly timer: unknown } | undefined;
  #lingerTimer: unknown;

  constructor(role: Role, transport: Duplex, limits: ChannelLimits, extras: ConnectionExtras) {
    this.#role = role;
    this.#transport = transport;
    this.#limits = limits;
    this.#taker = extras.taker;
    this.ended = this.#ended.promise;
    this.#decoder = new FrameDecoder(role, limits, this);
    this.#streams = new StreamTable(limits.maxStreams);
    this.#received = new ReceiveCredit(limits);
    this.#sender = new Sender(role, transport, this.#streams, this.#received, extras.seal ?? (() => {}));
    this.#openLimit = role === 'server' ? new OpenLimit(limits.maxOpensPerSecond) : undefined;
    transport.on('data', (chunk: unknown) => this.#receive(chunk));
    transport.on('end', () => this.#transportEnded());
    transport.on('error', (error: unknown) => {
      this.#decodeRest();
      this.#finish({ kind: 'lost', detail: `the transport failed: ${nameOf(error)}` });
    });
    transport.on('close', () => this.#transportClosed());
    if (transport.destroyed || transport.readableEnded) nextTick(() => this.#transportClosed());
    else this.#sender.hello(limits);
  }

  get end(): ChannelEnd | undefined {
    return this.#end;
  }

  get stats(): { bytesIn: number; bytesOut: number; streams: number } {
    return { bytesIn: this.#bytesIn, bytesOut: this.#sender.totalBytes, streams: this.#streams.everAdded };
  }

  /** How many more streams a client may open. */
  get room(): number {
    return this.#sender.hasIds ? max(0, this.#agreed('maxStreams') - this.#streams.count) : 0;
  }

  get maxHeadBytes(): number {
    return this.#agreed('maxHeadBytes');
  }

  closedError(): ChannelError {
    const end = this.#end;
    const detail = end === undefined || end.kind === 'closed' ? '' : `: ${end.detail}`;
    return new ChannelError('CHANNEL_CLOSED', `the connection has ended (${end ? end.kind : 'closed'})${detail}`);
  }

  add(stream: Stream): void {
    this.#streams.add(stream);
  }

  schedule(stream: Stream): void {
    this.#sender.schedule(stream);
  }

  /** The reader of `stream` took so many bytes, or they were dropped. */
  consumed(stream: Stream, bytes: number): void {
    if (this.#end) return;
    this.#received.consumed(stream, bytes);
    this.#sender.scheduleCredit(stream);
  }

  reset(stream: Stream, reason: string, error: ChannelError): void {
    if (stream.failure) return;
    if (stream.listed && stream.id === 0) {
      // OPEN was not sent: the other side need not know.
      this.#streams.remove(stream);
    } else if (stream.listed && stream.resetOut === 'none') {
      stream.resetReason = cleanReason(reason, maxReasonBytes);
      stream.resetOut = 'queued';
      this.#sender.schedule(stream);
    }
    stream.fail(error, 'all');
  }

  /** Server. One PING is on its way at a time; further callers share its answer. */
  ping(): Promise<number> {
    if (this.#ping) return this.#ping.answered.promise;
    this.#pings = (this.#pings + 1) % maxStreamId;
    const ping = { nonce: this.#pings, sentMs: undefined as number | undefined, answered: defer<number>() };
    this.#ping = ping;
    if (this.#end) ping.answered.reject(this.closedError());
    this.#sender.ping(ping.nonce, (sentMs) => {
      ping.sentMs = sentMs;
    });
    return ping.answered.promise;
  }

  /** Send now what there is credit and room for, not at the end of the running task. */
  flush(): void {
    this.#sender.pump();
  }

  /** A defect on this side. Going on would leave a stream that nobody answers. */
  handlerFailed(error: unknown): void {
    this.#finish({ kind: 'lost', detail: `the handler of streams threw: ${nameOf(error)}` });
  }

  /** Reset every stream, send what there is room for, and end the transport. */
  close(): void {
    if (this.#end) return;
    this.#sender.pump();
    let stream = this.#streams.first;
    while (stream) {
      const { next } = stream;
      this.reset(
        stream,
        'the connection was closed',
        new ChannelError('CHANNEL_CLOSED', 'the connection was closed by this side'),
      );
      stream = next;
    }
    this.#sender.pump();
    this.#finish({ kind: 'closed' });
  }

  dataBegins(streamId: number, length: number): Violation | undefined {
    if (!this.#peer) return corrupted('the first frame is no HELLO');
    const stream = this.#streams.find(streamId);
    if (!stream || stream.resetIn || stream.receiving !== 'body') {
      return corrupted(`DATA on stream ${streamId}, whose body is not open`);
    }
    return this.#received.admit(stream, length);
  }

  data(streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (this.#streams.find(streamId)?.body.push(bytes, start, end)) return undefined;
    this.#bytesDropped += end - start;
    // To drop costs a host about what it costs a cell to send, but no quota of the cell counts it.
    return this.#role === 'server' && this.#bytesDropped > droppedBytes
      ? abuse('unread', `more than ${droppedBytes} bytes for nobody`)
      : undefined;
  }

  frame(type: FrameType, streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (type === frameType.hello) return this.#takeHello(bytes, start);
    if (!this.#peer) return corrupted('the first frame is no HELLO');
    if (type === frameType.ping) return this.#takePing(readUint32(bytes, start));
    if (type === frameType.pong) return this.#takePong(readUint32(bytes, start));
    if (type === frameType.open) return this.#takeOpen(streamId, bytes, start, end);
    if (streamId === 0) return this.#takeConnectionCredit(readUint32(bytes, start));

    const stream = this.#streams.find(streamId);
    if (!stream) return this.#takeFrameOfOver(type, streamId);
    if (stream.resetIn) return corrupted(`a frame of type ${type} after RESET on stream ${streamId}`);
    if (!stream.seen) {
      stream.seen = true;
      this.#sender.openSeen();
    }
    if (type === frameType.credit) return this.#takeStreamCredit(stream, readUint32(bytes, start));
    if (type === frameType.head) return this.#takeHead(stream, bytes, start, end);
    if (type === frameType.end) return this.#takeEnd(stream);
    return this.#takeReset(stream, bytes, start, end);
  }

  #agreed(name: 'maxStreams' | 'maxHeadBytes'): number {
    return this.#peer ? min(this.#limits[name], this.#peer[name]) : this.#limits[name];
  }

  #takeHello(bytes: Uint8Array, offset: number): Violation | undefined {
    if (this.#peer) return corrupted('a second HELLO');
    const announced = decodeHello(bytes, offset);
    if ('kind' in announced) return announced;
    this.#peer = announced;
    this.#sender.start(announced);
    if (this.#role === 'client') this.#giveUpWhatIsTooMuch(announced);
    return undefined;
  }

  /** Streams opened before it was known what the server accepts. */
  #giveUpWhatIsTooMuch(announced: AnnouncedLimits): void {
    let stream = this.#streams.first;
    for (let n = 1; stream; n++) {
      const { next } = stream;
      if (n > announced.maxStreams) {
        stream.reset(
          '',
          new ChannelError('CHANNEL_STREAM_LIMIT', `the host takes ${announced.maxStreams} streams at once`),
        );
      } else if (stream.headToSend !== undefined && stream.headToSend.length > announced.maxHeadBytes) {
        stream.reset(
          '',
          new ChannelError('CHANNEL_HEAD_INVALID', `the host takes heads of ${announced.maxHeadBytes} bytes`),
        );
      }
      stream = next;
    }
  }

  #takeOpen(streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (streamId <= this.#highestId) return corrupted(`stream ${streamId} is opened after ${this.#highestId}`);
    this.#highestId = streamId;
    if (this.#streams.count >= this.#limits.maxStreams) {
      return abuse('streams', `more than ${this.#limits.maxStreams} streams at once`);
    }
    if (!this.#openLimit?.admit(monotonicMs())) {
      return abuse('opens', `more than ${this.#limits.maxOpensPerSecond} streams in a second`);
    }
    const head = decodeRequestHead(bytes, start, end);
    if ('kind' in head) return head;
    if (!this.#taker) return corrupted('nobody takes streams here');
    const stream = this.#taker.make(this, streamId, head);
    this.#streams.add(stream);
    try {
      this.#taker.announce(stream);
    } catch (error) {
      this.handlerFailed(error);
    }
    return undefined;
  }

  #takeHead(stream: Stream, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (stream.receiving !== 'head') return corrupted(`a second HEAD on stream ${stream.id}`);
    const head = decodeResponseHead(bytes, start, end);
    if ('kind' in head) return head;
    stream.receiving = 'body';
    stream.onHead?.(head);
    return undefined;
  }

  #takeEnd(stream: Stream): Violation | undefined {
    if (stream.receiving !== 'body') return corrupted(`END on stream ${stream.id}, whose body is not open`);
    stream.receiving = 'ended';
    stream.body.finish();
    this.#sender.closeIfEnded(stream);
    return undefined;
  }

  #takeReset(stream: Stream, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    const reason = latin1Slice(bytes, start, end);
    if (cleanReason(reason, maxReasonBytes) !== reason)
      return corrupted('the reason of a RESET is not printable ASCII');
    stream.resetIn = true;
    if (stream.resetOut === 'sent') {
      this.#streams.remove(stream);
      return undefined;
    }
    // Answered in kind: the other side may go on sending until it has read the answer, and forgets the stream then.
    if (stream.resetOut === 'none') {
      stream.resetOut = 'queued';
      this.#sender.schedule(stream);
    }
    stream.fail(new ChannelError('CHANNEL_RESET', `the stream was reset by the other side: ${reason}`), 'all');
    return undefined;
  }

  #takeStreamCredit(stream: Stream, bytes: number): Violation | undefined {
    const violation = this.#sender.credit.creditStream(stream, bytes);
    if (!violation && stream.pendingBytes > 0) this.#sender.schedule(stream);
    return violation;
  }

  #takeConnectionCredit(bytes: number): Violation | undefined {
    const violation = this.#sender.credit.creditConnection(bytes);
    if (!violation) this.#sender.connectionCredited();
    return violation;
  }

  /** RESET and CREDIT may cross this side's END on their way; nothing else may come for a stream that is over. */
  #takeFrameOfOver(type: FrameType, streamId: number): Violation | undefined {
    const wasOpen = this.#role === 'server' ? streamId <= this.#highestId : this.#sender.hasOpened(streamId);
    if (wasOpen && (type === frameType.reset || type === frameType.credit)) return this.#streams.lateFrame(streamId);
    return corrupted(`a frame of type ${type} for stream ${streamId}, which is not open`);
  }

  #takePing(nonce: number): Violation | undefined {
    return this.#sender.pong(nonce) ? undefined : corrupted('a PING before the last was answered');
  }

  #takePong(nonce: number): Violation | undefined {
    const ping = this.#ping;
    if (ping?.sentMs === undefined || nonce !== ping.nonce) return abuse('pong', 'a PONG that answers no PING');
    this.#ping = undefined;
    ping.answered.resolve(monotonicMs() - ping.sentMs);
    return undefined;
  }

  #receive(chunk: unknown): void {
    // Node.js resumes the pipes of a child that has exited, whoever has paused them.
    this.#decodeRest();
    if (this.#end) return;
    if (!isView(chunk)) {
      this.#finish({ kind: 'lost', detail: 'the transport gives no bytes' });
      return;
    }
    this.#bytesIn += byteLengthOf(chunk as Uint8Array);
    this.#decode(chunk as Uint8Array, 0);
  }

  /**
   * A cell can send frames of one byte as fast as it likes, within its credit. Decoding at a bounded pace, in short turns,
   * leaves the host its time for everybody else; frames of a useful size never come near that pace.
   */
  #decode(bytes: Uint8Array, from: number): void {
    const decoder = this.#decoder;
    let at = from;
    for (;;) {
      at = decoder.push(bytes, at, this.#role === 'server' ? this.#pacedFrom + pacedFrames : Infinity);
      if (decoder.violation) this.#finish(decoder.violation);
      if (this.#end || at === byteLengthOf(bytes)) return;
      const nowMs = monotonicMs();
      const restMs = this.#pacedSinceMs + pacedMs - nowMs;
      this.#pacedFrom = decoder.frames;
      this.#pacedSinceMs = nowMs;
      if (restMs > 0) {
        this.#continueIn(restMs, bytes, at);
        return;
      }
    }
  }

  #continueIn(ms: number, bytes: Uint8Array, at: number): void {
    this.#transport.pause();
    const timer = startTimer(() => {
      this.#rest = undefined;
      this.#pacedSinceMs = monotonicMs();
      this.#transport.resume();
      this.#decode(bytes, at);
    }, ms);
    this.#rest = { bytes, at, timer };
  }

  /** At once, as something has come that is to be taken after it. */
  #decodeRest(): void {
    const rest = this.#rest;
    if (!rest) return;
    this.#rest = undefined;
    stopTimer(rest.timer);
    this.#decoder.push(rest.bytes, rest.at, Infinity);
    if (this.#decoder.violation) this.#finish(this.#decoder.violation);
  }

  #transportEnded(): void {
    this.#decodeRest();
    if (!this.#end && !this.#decoder.betweenFrames) {
      this.#finish({ kind: 'lost', detail: 'the transport ended within a frame' });
      return;
    }
    this.#finish({ kind: 'closed' });
    this.#transport.destroy();
  }

  #transportClosed(): void {
    this.#decodeRest();
    if (this.#lingerTimer !== undefined) stopTimer(this.#lingerTimer);
    this.#finish({ kind: 'lost', detail: 'the transport was closed' });
  }

  /** The one way out: tells everybody, once, and lets go of the transport. */
  #finish(end: ChannelEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#decoder.stop();
    this.#sender.stop();
    if (this.#rest) stopTimer(this.#rest.timer);
    this.#rest = undefined;
    const error = this.closedError();
    // Who broke the rules is believed nothing more, not even what it had sent completely.
    const keep = end.kind === 'closed' || end.kind === 'lost' ? 'keep-complete' : 'all';
    let stream = this.#streams.first;
    while (stream) {
      const { next } = stream;
      stream.fail(error, keep);
      stream = next;
    }
    this.#ping?.answered.reject(error);
    this.#ended.resolve({ __proto__: null, ...end } as unknown as ChannelEnd);
    if (end.kind !== 'closed' || this.#transport.destroyed) {
      this.#transport.destroy();
      return;
    }
    // What was handed over is still sent. What arrives meanwhile is read and dropped: with unread bytes in the socket, the
    // other side would see a failure in place of an end.
    this.#lingerTimer = startTimer(() => this.#transport.destroy(), lingerMs);
    this.#transport.end();
    this.#transport.resume();
  }
}

function nameOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown';
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return cleanReason(code, 64);
  return typeof message === 'string' ? cleanReason(message, 200) : 'unknown';
}
