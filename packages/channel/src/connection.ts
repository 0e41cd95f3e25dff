import type { Duplex } from 'node:stream';
import type { ChannelEnd, ChannelLimits, RequestHead } from './api.ts';
import { FrameDecoder, type FrameSink } from './decoder.ts';
import { ChannelError } from './errors.ts';
import {
  type AnnouncedLimits,
  abuse,
  corrupted,
  decodeHello,
  encodeHello,
  type FrameType,
  frameType,
  helloBytes,
  maxReasonBytes,
  maxStreamId,
  type Role,
  readUint32,
  type Violation,
} from './frame.ts';
import { cleanReason, decodeRequestHead, decodeResponseHead } from './head.ts';
import { creditQuantum } from './limits.ts';
import { OpenLimit, OpenPacer } from './open-rate.ts';
import { Outbox } from './outbox.ts';
import {
  byteLengthOf,
  floor,
  isView,
  latin1Slice,
  min,
  monotonicMs,
  nextTick,
  startTimer,
  stopTimer,
} from './primordials.ts';
import { type Deferred, defer } from './promises.ts';
import { type Stream, StreamQueue } from './stream.ts';

/** A server reads so many frames in so many ms, then pauses: crumbs cost the sender its time, not the host's. */
const pacedFrames = 2048;
const pacedMs = 25;
/** How long a closed transport may take to send what it holds. */
const lingerMs = 1000;

export interface ConnectionHooks {
  /** Server only: an OPEN was accepted. @returns the stream that stands for it. */
  opened?: (connection: Connection, id: number, head: RequestHead) => Stream;
  /** Server only: hand the stream to its user. */
  announce?: (stream: Stream) => void;
}

/** One end of a connection: frames in and out, credit, streams, the end. The same for both roles; they differ where it says so. */
export class Connection implements FrameSink {
  readonly ended: Promise<ChannelEnd>;
  readonly #ended: Deferred<ChannelEnd> = defer();
  readonly #role: Role;
  readonly #transport: Duplex;
  readonly #limits: ChannelLimits;
  readonly #hooks: ConnectionHooks;
  readonly #decoder: FrameDecoder;
  readonly #outbox: Outbox;
  #end: ChannelEnd | undefined;
  /** What the other side accepts; undefined until its HELLO. */
  #peer: AnnouncedLimits | undefined;

  #firstStream: Stream | undefined;
  #lastStream: Stream | undefined;
  #streams = 0;
  #streamsEver = 0;
  #highestId = -1;
  /** The stream of the last frame: most frames are of the same. */
  #recent: Stream | undefined;
  readonly #ready = new StreamQueue();
  /** Have data and credit of their own, but the connection has none. */
  readonly #starved = new StreamQueue();
  /** Client: OPENs that wait for their second. */
  readonly #held = new StreamQueue();
  #pumpScheduled = false;

  #uncreditedBytes = 0;
  #owedBytes = 0;
  #consumedBytes = 0;
  /** Frames for closed streams that the other side may have sent before it knew. */
  #lateFrames = 0;

  readonly #openLimit: OpenLimit | undefined;
  #openPacer: OpenPacer | undefined;
  #paceTimer: unknown;
  #pauseTimer: unknown;
  #lingerTimer: unknown;
  #pacedFrom = 0;
  #pacedSinceMs = 0;

  #bytesIn = 0;
  #pingToSend = false;
  #ping: { nonce: number; sentMs: number; answered: Deferred<number> } | undefined;
  #pings = 0;
  #pongToSend: number | undefined;

  constructor(role: Role, transport: Duplex, limits: ChannelLimits, hooks: ConnectionHooks = {}) {
    this.#role = role;
    this.#transport = transport;
    this.#limits = limits;
    this.#hooks = hooks;
    this.ended = this.#ended.promise;
    this.#decoder = new FrameDecoder(role, limits, this);
    this.#outbox = new Outbox(transport, () => this.#schedulePump());
    this.#openLimit = role === 'server' ? new OpenLimit(limits.maxOpensPerSecond) : undefined;
    transport.on('data', (chunk: unknown) => this.#receive(chunk));
    transport.on('end', () => this.#transportEnded());
    transport.on('error', (error: unknown) =>
      this.#finish({ kind: 'lost', detail: `the transport failed: ${errorCode(error)}` }),
    );
    transport.on('close', () => this.#transportClosed());
    if (transport.destroyed) {
      nextTick(() => this.#transportClosed());
      return;
    }
    this.#outbox.header(frameType.hello, 0, helloBytes);
    this.#outbox.bytes(encodeHello(limits), 0, helloBytes);
    this.#outbox.flush();
  }

  get end(): ChannelEnd | undefined {
    return this.#end;
  }

  get stats(): { bytesIn: number; bytesOut: number; streams: number } {
    return { bytesIn: this.#bytesIn, bytesOut: this.#outbox.totalBytes, streams: this.#streamsEver };
  }

  /** How many streams more may be opened. */
  get freeStreams(): number {
    return min(this.#limits.maxStreams, this.#peer ? this.#peer.maxStreams : this.#limits.maxStreams) - this.#streams;
  }

  get maxHeadBytes(): number {
    return min(this.#limits.maxHeadBytes, this.#peer ? this.#peer.maxHeadBytes : this.#limits.maxHeadBytes);
  }

  closedError(): ChannelError {
    const end = this.#end;
    const detail = end === undefined || end.kind === 'closed' ? '' : `: ${end.detail}`;
    return new ChannelError('CHANNEL_CLOSED', `the connection has ended (${end ? end.kind : 'closed'})${detail}`);
  }

  add(stream: Stream): void {
    stream.previous = this.#lastStream;
    if (this.#lastStream) this.#lastStream.next = stream;
    else this.#firstStream = stream;
    this.#lastStream = stream;
    this.#streams++;
    this.#streamsEver++;
  }

  /** The stream has something to send. */
  schedule(stream: Stream): void {
    if (this.#end) return;
    if (stream.queue === this.#starved && (stream.resetOut === 'queued' || this.#streamCreditDue(stream))) {
      this.#starved.remove(stream);
    }
    if (stream.queue === undefined) this.#ready.push(stream);
    this.#schedulePump();
  }

  flush(): void {
    this.#pump();
  }

  /** The reader of `stream` took so many bytes, or they were dropped. */
  consumed(stream: Stream, bytes: number): void {
    if (this.#end) return;
    stream.consumedBytes += bytes;
    this.#consumedBytes += bytes;
    if (this.#streamCreditDue(stream)) this.schedule(stream);
    else if (this.#connectionCreditDue()) this.#schedulePump();
  }

  reset(stream: Stream, reason: string, error: ChannelError): void {
    if (this.#end || stream.failure || stream.resetOut !== 'none') return;
    stream.resetReason = cleanReason(reason, maxReasonBytes);
    if (stream.id === 0) {
      // Never opened: there is nothing to reset on the other side.
      this.#remove(stream);
    } else if (this.#isListed(stream)) {
      stream.resetOut = 'queued';
      this.schedule(stream);
    }
    stream.fail(error, 'all');
  }

  /** Server. One PING is on its way at a time; further callers share its answer. */
  ping(): Promise<number> {
    if (!this.#ping) {
      this.#ping = { nonce: 0, sentMs: 0, answered: defer() };
      if (this.#end) {
        this.#ping.answered.reject(this.closedError());
      } else {
        this.#pingToSend = true;
        this.#schedulePump();
      }
    }
    return this.#ping.answered.promise;
  }

  /** Reset every stream, send what there is room for, and end the transport. */
  close(): void {
    if (this.#end) return;
    this.#pump();
    let stream = this.#firstStream;
    while (stream) {
      const { next } = stream;
      this.reset(
        stream,
        'the connection was closed',
        new ChannelError('CHANNEL_CLOSED', 'the connection was closed by this side'),
      );
      stream = next;
    }
    this.#pump();
    this.#finish({ kind: 'closed' });
  }

  dataBegins(streamId: number, length: number): Violation | undefined {
    if (!this.#peer) return corrupted('the first frame is no HELLO');
    const stream = this.#find(streamId);
    if (!stream || stream.resetIn) return corrupted(`DATA for stream ${streamId}, which is not open`);
    if (stream.receiving !== 'body') return corrupted(`DATA for stream ${streamId}, whose body is not open`);
    if (stream.owedBytes + length > this.#limits.streamWindowBytes)
      return abuse('stream-credit', `stream ${streamId} has no credit for ${length} bytes`);
    if (this.#owedBytes + length > this.#limits.connectionWindowBytes)
      return abuse('connection-credit', `the connection has no credit for ${length} bytes`);
    stream.owedBytes += length;
    this.#owedBytes += length;
    return undefined;
  }

  data(streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    const stream = this.#find(streamId);
    stream?.body.push(bytes, start, end);
    return undefined;
  }

  frame(type: FrameType, streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (type === frameType.hello) return this.#hello(bytes, start);
    if (!this.#peer) return corrupted('the first frame is no HELLO');
    if (type === frameType.ping) return this.#pinged(readUint32(bytes, start));
    if (type === frameType.pong) return this.#ponged(readUint32(bytes, start));
    if (type === frameType.open) return this.#opened(streamId, bytes, start, end);
    if (type === frameType.credit && streamId === 0) return this.#connectionCredit(readUint32(bytes, start));

    const stream = this.#find(streamId);
    if (!stream) return this.#frameOfClosed(type, streamId);
    if (stream.resetIn) return corrupted(`a frame of type ${type} after RESET on stream ${streamId}`);
    if (!stream.seen) {
      stream.seen = true;
      this.#openPacer?.seen(monotonicMs());
      if (this.#held.first) this.#releaseHeld();
    }
    if (type === frameType.credit) return this.#streamCredit(stream, readUint32(bytes, start));
    if (type === frameType.head) return this.#headed(stream, bytes, start, end);
    if (type === frameType.end) return this.#endReceived(stream);
    return this.#resetReceived(stream, bytes, start, end);
  }

  #hello(bytes: Uint8Array, offset: number): Violation | undefined {
    if (this.#peer) return corrupted('a second HELLO');
    const announced = decodeHello(bytes, offset);
    if ('kind' in announced) return announced;
    this.#peer = announced;
    if (this.#role === 'client') {
      this.#openPacer = new OpenPacer(announced.maxOpensPerSecond);
      let stream = this.#firstStream;
      for (let n = 1; stream; n++) {
        const { next } = stream;
        const tooMany = n > announced.maxStreams;
        if (tooMany || (stream.headToSend as string).length > announced.maxHeadBytes) {
          const code = tooMany ? 'CHANNEL_STREAM_LIMIT' : 'CHANNEL_HEAD_INVALID';
          this.reset(stream, '', new ChannelError(code, 'the host accepts less than was asked for before it said so'));
        }
        stream = next;
      }
    }
    this.#schedulePump();
    return undefined;
  }

  #opened(streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (streamId <= this.#highestId) return corrupted(`stream ${streamId} is opened after ${this.#highestId}`);
    this.#highestId = streamId;
    if (this.#streams >= this.#limits.maxStreams)
      return abuse('streams', `more than ${this.#limits.maxStreams} streams at once`);
    if (!this.#openLimit?.admit(monotonicMs()))
      return abuse('opens', `more than ${this.#limits.maxOpensPerSecond} streams in a second`);
    const head = decodeRequestHead(bytes, start, end);
    if ('kind' in head) return head;
    const { opened, announce } = this.#hooks;
    if (!opened || !announce) return corrupted('nobody takes streams here');
    const stream = opened(this, streamId, head);
    stream.seen = true;
    this.add(stream);
    try {
      announce(stream);
    } catch (error) {
      // A defect on this side. Going on would leave a stream that nobody answers.
      this.#finish({ kind: 'lost', detail: `the handler of streams threw: ${errorCode(error)}` });
    }
    return undefined;
  }

  #headed(stream: Stream, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    if (stream.receiving !== 'head') return corrupted(`a second HEAD on stream ${stream.id}`);
    const head = decodeResponseHead(bytes, start, end);
    if ('kind' in head) return head;
    stream.receiving = 'body';
    if (!stream.failure) stream.onHead?.(head);
    return undefined;
  }

  #endReceived(stream: Stream): Violation | undefined {
    if (stream.receiving !== 'body') return corrupted(`END on stream ${stream.id}, whose body is not open`);
    stream.receiving = 'ended';
    stream.body.finish();
    this.#closeIfDone(stream);
    return undefined;
  }

  #resetReceived(stream: Stream, bytes: Uint8Array, start: number, end: number): Violation | undefined {
    const reason = latin1Slice(bytes, start, end);
    if (cleanReason(reason, maxReasonBytes) !== reason)
      return corrupted('the reason of a RESET is not printable ASCII');
    stream.resetIn = true;
    if (stream.resetOut === 'sent') {
      this.#remove(stream);
      return undefined;
    }
    // Answered in kind: until it has the answer, the other side cannot know which frames were sent before.
    if (stream.resetOut === 'none') {
      stream.resetOut = 'queued';
      this.schedule(stream);
    }
    stream.fail(new ChannelError('CHANNEL_RESET', `the stream was reset by the other side: ${reason}`), 'all');
    return undefined;
  }

  #streamCredit(stream: Stream, amount: number): Violation | undefined {
    const peer = this.#peer as AnnouncedLimits;
    if (amount < creditQuantum(peer.streamWindowBytes))
      return abuse('credit-crumbs', `CREDIT of ${amount} bytes on stream ${stream.id}`);
    if (amount > stream.uncreditedBytes)
      return abuse('credit-overflow', `CREDIT for more than was sent on stream ${stream.id}`);
    stream.uncreditedBytes -= amount;
    if (stream.pendingBytes > 0) this.schedule(stream);
    return undefined;
  }

  #connectionCredit(amount: number): Violation | undefined {
    const peer = this.#peer as AnnouncedLimits;
    if (amount < creditQuantum(peer.connectionWindowBytes))
      return abuse('credit-crumbs', `CREDIT of ${amount} bytes on the connection`);
    if (amount > this.#uncreditedBytes)
      return abuse('credit-overflow', 'CREDIT for more than was sent on the connection');
    this.#uncreditedBytes -= amount;
    let stream = this.#starved.first;
    while (stream) {
      this.#starved.remove(stream);
      this.#ready.push(stream);
      stream = this.#starved.first;
    }
    this.#schedulePump();
    return undefined;
  }

  /**
   * When both sides have sent END, this side may know before the other, which can still have sent credit or a RESET.
   * How many such frames there can be is known exactly; more is a flood.
   */
  #frameOfClosed(type: FrameType, streamId: number): Violation | undefined {
    const wasOpen = this.#role === 'server' ? streamId <= this.#highestId : streamId < this.#nextId;
    if (!wasOpen || (type !== frameType.reset && type !== frameType.credit)) {
      return corrupted(`a frame of type ${type} for stream ${streamId}, which is not open`);
    }
    if (this.#lateFrames === 0)
      return abuse('late-frames', `a frame of type ${type} for stream ${streamId}, which is closed`);
    this.#lateFrames--;
    return undefined;
  }

  #pinged(nonce: number): Violation | undefined {
    if (this.#pongToSend !== undefined) return corrupted('a PING before the last was answered');
    this.#pongToSend = nonce;
    this.#schedulePump();
    return undefined;
  }

  #ponged(nonce: number): Violation | undefined {
    const ping = this.#ping;
    if (!ping || this.#pingToSend || nonce !== ping.nonce) return abuse('pong', 'a PONG that answers no PING');
    this.#ping = undefined;
    ping.answered.resolve(monotonicMs() - ping.sentMs);
    return undefined;
  }

  #nextId = 1;

  #schedulePump(): void {
    if (this.#pumpScheduled || this.#end) return;
    this.#pumpScheduled = true;
    nextTick(() => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  /** Build frames as long as there is something to send, credit for it, and room in the transport; then hand them over at once. */
  #pump(): void {
    if (this.#end || !this.#peer) return;
    if (this.#outbox.hasRoom) this.#sendConnectionFrames();
    let stream = this.#ready.first;
    while (stream && this.#outbox.hasRoom) {
      this.#ready.remove(stream);
      this.#sendStreamFrames(stream);
      stream = this.#ready.first;
    }
    this.#outbox.flush();
  }

  #sendConnectionFrames(): void {
    const out = this.#outbox;
    if (this.#pongToSend !== undefined) {
      out.header(frameType.pong, 0, 4);
      out.uint32(this.#pongToSend);
      this.#pongToSend = undefined;
    }
    if (this.#pingToSend && this.#ping) {
      this.#pingToSend = false;
      this.#pings = (this.#pings + 1) % maxStreamId;
      this.#ping.nonce = this.#pings;
      this.#ping.sentMs = monotonicMs();
      out.header(frameType.ping, 0, 4);
      out.uint32(this.#pings);
    }
    if (this.#connectionCreditDue()) {
      out.header(frameType.credit, 0, 4);
      out.uint32(this.#consumedBytes);
      this.#owedBytes -= this.#consumedBytes;
      this.#consumedBytes = 0;
    }
  }

  #connectionCreditDue(): boolean {
    return this.#consumedBytes >= creditQuantum(this.#limits.connectionWindowBytes);
  }

  #streamCreditDue(stream: Stream): boolean {
    // After its END the other side has no use for credit, and may have forgotten the stream.
    return (
      stream.receiving === 'body' &&
      stream.resetOut === 'none' &&
      stream.consumedBytes >= creditQuantum(this.#limits.streamWindowBytes)
    );
  }

  /** Everything but data that the stream has to send, and one DATA frame. */
  #sendStreamFrames(stream: Stream): void {
    const out = this.#outbox;
    if (stream.resetOut !== 'none') {
      this.#sendReset(stream);
      return;
    }
    if (stream.headToSend !== undefined) {
      if (this.#role === 'client' && !this.#assignId(stream)) return;
      out.header(this.#role === 'client' ? frameType.open : frameType.head, stream.id, stream.headToSend.length);
      out.text(stream.headToSend);
      stream.headToSend = undefined;
    }
    if (this.#streamCreditDue(stream)) {
      out.header(frameType.credit, stream.id, 4);
      out.uint32(stream.consumedBytes);
      stream.owedBytes -= stream.consumedBytes;
      stream.consumedBytes = 0;
    }
    if (stream.pendingBytes > 0) this.#sendData(stream);
    if (stream.sending === 'ending' && stream.pendingBytes === 0) {
      out.header(frameType.end, stream.id, 0);
      stream.sending = 'ended';
      // Whoever has answered and never looked at the request's body will not: it must not hold the window.
      if (this.#role === 'server' && !stream.body.begun) stream.body.drop();
      this.#closeIfDone(stream);
    }
  }

  #sendReset(stream: Stream): void {
    if (stream.resetOut !== 'queued') return;
    this.#outbox.header(frameType.reset, stream.id, stream.resetReason.length);
    this.#outbox.text(stream.resetReason);
    stream.resetOut = 'sent';
    stream.endedBeforeReset = stream.sending === 'ended';
    if (stream.resetIn) this.#remove(stream);
  }

  /** @returns false when OPEN has to wait; it is then in `#held`. */
  #assignId(stream: Stream): boolean {
    const pacer = this.#openPacer as OpenPacer;
    const waitMs = this.#held.first ? -1 : pacer.waitMs(monotonicMs());
    if (waitMs !== 0) {
      this.#held.push(stream);
      if (waitMs > 0) this.#holdFor(waitMs);
      return false;
    }
    stream.id = this.#nextId;
    this.#nextId += 2;
    pacer.opened();
    return true;
  }

  #holdFor(waitMs: number): void {
    if (this.#paceTimer !== undefined || waitMs > 2000) return;
    this.#paceTimer = startTimer(() => {
      this.#paceTimer = undefined;
      this.#releaseHeld();
    }, waitMs);
  }

  #releaseHeld(): void {
    let stream = this.#held.first;
    while (stream) {
      this.#held.remove(stream);
      this.#ready.push(stream);
      stream = this.#held.first;
    }
    this.#schedulePump();
  }

  #sendData(stream: Stream): void {
    const peer = this.#peer as AnnouncedLimits;
    const streamCredit = peer.streamWindowBytes - stream.uncreditedBytes;
    if (streamCredit === 0) return;
    const connectionCredit = peer.connectionWindowBytes - this.#uncreditedBytes;
    if (connectionCredit === 0) {
      this.#starved.push(stream);
      return;
    }
    const length = min(stream.pendingBytes, streamCredit, connectionCredit, peer.maxFrameBytes);
    stream.pendingBytes -= length;
    stream.uncreditedBytes += length;
    this.#uncreditedBytes += length;
    this.#outbox.header(frameType.data, stream.id, length);
    let missing = length;
    while (missing > 0 && stream.firstWrite) {
      const write = stream.firstWrite;
      const size = byteLengthOf(write.bytes);
      const part = min(missing, size - write.sent);
      this.#outbox.bytes(write.bytes, write.sent, write.sent + part);
      write.sent += part;
      missing -= part;
      if (write.sent < size) break;
      stream.firstWrite = write.next;
      if (!write.next) stream.lastWrite = undefined;
      write.settled.resolve();
    }
    if (stream.pendingBytes > 0) this.#ready.push(stream);
  }

  /** Forget a stream that both sides have ended. */
  #closeIfDone(stream: Stream): void {
    if (stream.receiving !== 'ended') return;
    if (
      stream.resetOut === 'sent' ? !stream.endedBeforeReset : stream.sending !== 'ended' || stream.resetOut === 'queued'
    )
      return;
    const quantum = creditQuantum((this.#peer as AnnouncedLimits).streamWindowBytes);
    // A RESET, and the credit for what is not credited; the cap is what as many streams as there can be may cause.
    this.#lateFrames = min(this.#lateFrames + 1 + floor(stream.uncreditedBytes / quantum), this.#limits.maxStreams * 5);
    this.#remove(stream);
  }

  #remove(stream: Stream): void {
    if (!this.#isListed(stream)) return;
    if (stream.queue) stream.queue.remove(stream);
    if (stream.previous) stream.previous.next = stream.next;
    else this.#firstStream = stream.next;
    if (stream.next) stream.next.previous = stream.previous;
    else this.#lastStream = stream.previous;
    stream.next = undefined;
    stream.previous = undefined;
    if (this.#recent === stream) this.#recent = undefined;
    this.#streams--;
  }

  #isListed(stream: Stream): boolean {
    return stream === this.#firstStream || stream.previous !== undefined;
  }

  #find(id: number): Stream | undefined {
    if (this.#recent && this.#recent.id === id) return this.#recent;
    let stream = this.#firstStream;
    while (stream && stream.id !== id) stream = stream.next;
    if (stream) this.#recent = stream;
    return stream;
  }

  #receive(chunk: unknown): void {
    if (this.#end) return;
    if (!isView(chunk)) {
      this.#finish({ kind: 'lost', detail: 'the transport gives no bytes' });
      return;
    }
    const bytes = chunk as Uint8Array;
    this.#bytesIn += byteLengthOf(bytes);
    const violation = this.#decoder.push(bytes);
    if (violation) this.#finish(violation);
    else if (this.#role === 'server' && this.#decoder.frames - this.#pacedFrom >= pacedFrames) this.#pace();
  }

  /**
   * A cell may send frames of one byte as fast as it can, at no cost of credit worth the name. Reading at a bounded pace
   * leaves the host its time for everybody else; frames of a useful size never come near it.
   */
  #pace(): void {
    const nowMs = monotonicMs();
    const restMs = this.#pacedSinceMs + pacedMs - nowMs;
    this.#pacedFrom = this.#decoder.frames;
    this.#pacedSinceMs = nowMs;
    if (restMs <= 0 || this.#end) return;
    this.#transport.pause();
    this.#pauseTimer = startTimer(() => {
      this.#pauseTimer = undefined;
      this.#pacedSinceMs = monotonicMs();
      this.#transport.resume();
    }, restMs);
  }

  #transportEnded(): void {
    if (this.#end) {
      this.#transport.destroy();
    } else if (this.#decoder.betweenFrames) {
      this.#finish({ kind: 'closed' });
      this.#transport.destroy();
    } else {
      this.#finish({ kind: 'lost', detail: 'the transport ended within a frame' });
    }
  }

  #transportClosed(): void {
    if (this.#lingerTimer !== undefined) stopTimer(this.#lingerTimer);
    this.#finish({ kind: 'lost', detail: 'the transport was closed' });
  }

  /** The one way out. Tells everybody, once, and lets go of the transport: gently only where nothing is wrong. */
  #finish(end: ChannelEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#decoder.stop();
    if (this.#paceTimer !== undefined) stopTimer(this.#paceTimer);
    if (this.#pauseTimer !== undefined) stopTimer(this.#pauseTimer);
    const error = this.closedError();
    const trusted = end.kind === 'closed' || end.kind === 'lost';
    let stream = this.#firstStream;
    while (stream) {
      const { next } = stream;
      stream.fail(error, trusted ? 'keep-complete' : 'all');
      stream = next;
    }
    this.#ping?.answered.reject(error);
    this.#ended.resolve(end);
    if (end.kind !== 'closed' || this.#transport.destroyed) {
      this.#transport.destroy();
      return;
    }
    // What was handed over is still sent; what arrives meanwhile is read and dropped, or the other side would see a reset.
    this.#lingerTimer = startTimer(() => this.#transport.destroy(), lingerMs);
    this.#transport.end();
    this.#transport.resume();
  }
}

function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    if (typeof code === 'string') return cleanReason(code, 64);
    if (typeof message === 'string') return cleanReason(message, 200);
  }
  return 'unknown';
}
