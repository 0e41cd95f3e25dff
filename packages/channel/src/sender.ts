import type { Duplex } from 'node:stream';
import { type ReceiveCredit, SendCredit } from './credit.ts';
import { ChannelError } from './errors.ts';
import {
  type AnnouncedLimits,
  encodeHello,
  frameType,
  headerBytes,
  helloBytes,
  maxStreamId,
  type Role,
} from './frame.ts';
import { OpenPacer } from './open-rate.ts';
import { Outbox } from './outbox.ts';
import { min, monotonicMs, nextTick, startTimer, stopTimer } from './primordials.ts';
import type { Stream } from './stream.ts';
import { StreamQueue, type StreamTable } from './stream-table.ts';

const answeredUnread = () =>
  new ChannelError('CHANNEL_MISUSE', 'the body was given up: the answer ended before anybody read');

/** Less than this is not sent only because a buffer ends there. */
const leastDataBytes = 16 * 1024;

interface Started {
  readonly peer: AnnouncedLimits;
  readonly credit: SendCredit;
  readonly pacer: OpenPacer;
}

/**
 * Decides what is sent next. What there is to send is kept as state of the streams, never as a queue of frames: however
 * slowly the other side reads, a stream has at most one head, one RESET and one CREDIT pending, and its writers wait.
 *
 * Streams take turns, one DATA frame each. All that is sent in one turn of the event loop is one write.
 */
export class Sender {
  readonly #role: Role;
  readonly #streams: StreamTable;
  readonly #received: ReceiveCredit;
  readonly #outbox: Outbox;
  #started: Started | undefined;
  #stopped = false;
  #pumpScheduled = false;

  readonly #ready = new StreamQueue();
  /** Have data and credit of their own, but the connection has none. */
  readonly #starved = new StreamQueue();
  /** Client: OPENs that wait for their second. */
  readonly #held = new StreamQueue();
  #paceTimer: unknown;
  #nextId = 1;
  #pingNonce: number | undefined;
  #pongNonce: number | undefined;
  #onPing: (sentMs: number) => void = () => {};

  constructor(
    role: Role,
    transport: Duplex,
    streams: StreamTable,
    received: ReceiveCredit,
    seal: (view: Uint8Array) => void,
  ) {
    this.#role = role;
    this.#streams = streams;
    this.#received = received;
    this.#outbox = new Outbox(transport, () => this.pump(), seal);
  }

  get totalBytes(): number {
    return this.#outbox.totalBytes;
  }

  hello(limits: AnnouncedLimits): void {
    if (!this.#outbox.fits(headerBytes + helloBytes)) return;
    this.#outbox.header(frameType.hello, 0, helloBytes);
    this.#outbox.bytes(encodeHello(limits), 0, helloBytes);
    this.#outbox.flush();
  }

  /** The other side's HELLO is here. Nothing but HELLO is sent before. */
  start(peer: AnnouncedLimits): void {
    this.#started = { peer, credit: new SendCredit(peer), pacer: new OpenPacer(peer.maxOpensPerSecond) };
    this.#schedulePump();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#paceTimer !== undefined) stopTimer(this.#paceTimer);
  }

  /** @throws TypeError before `start`: no frame that needs it is accepted then. */
  get credit(): SendCredit {
    if (!this.#started) throw new TypeError('no HELLO yet');
    return this.#started.credit;
  }

  /** Whether a client has sent OPEN for this id. */
  hasOpened(id: number): boolean {
    return id < this.#nextId;
  }

  /** The stream may have something to send. */
  schedule(stream: Stream): void {
    if (stream.queue === this.#starved && (stream.resetOut === 'queued' || this.#received.isStreamDue(stream))) {
      this.#starved.remove(stream);
    }
    if (stream.queue === undefined && stream.listed) this.#ready.push(stream);
    this.#schedulePump();
  }

  scheduleCredit(stream: Stream): void {
    if (this.#received.isStreamDue(stream)) this.schedule(stream);
    else if (this.#received.isConnectionDue) this.#schedulePump();
  }

  connectionCredited(): void {
    this.#starved.moveAllTo(this.#ready);
    this.#schedulePump();
  }

  /** Client: the server has sent something on this stream, so it has read the OPEN. */
  openSeen(): void {
    this.#started?.pacer.seen(monotonicMs());
    if (this.#held.first) this.#releaseHeld();
  }

  ping(nonce: number, onPing: (sentMs: number) => void): void {
    this.#pingNonce = nonce;
    this.#onPing = onPing;
    this.#schedulePump();
  }

  /** @returns false when the last PONG is not sent yet. */
  pong(nonce: number): boolean {
    if (this.#pongNonce !== undefined) return false;
    this.#pongNonce = nonce;
    this.#schedulePump();
    return true;
  }

  /** Build frames as long as there is something to send, credit for it, and a transport that takes them. */
  pump(): void {
    if (!this.#started) return;
    do {
      if (this.#stopped) return;
      this.#sendConnectionFrames();
      let stream = this.#ready.first;
      while (stream && this.#sendStreamFrames(stream)) stream = this.#ready.first;
    } while (this.#outbox.flush());
  }

  #schedulePump(): void {
    if (this.#pumpScheduled || this.#stopped) return;
    this.#pumpScheduled = true;
    nextTick(() => {
      this.#pumpScheduled = false;
      this.pump();
    });
  }

  #sendConnectionFrames(): void {
    const out = this.#outbox;
    if (!out.fits(3 * (headerBytes + 4))) return;
    if (this.#pongNonce !== undefined) {
      out.header(frameType.pong, 0, 4);
      out.uint32(this.#pongNonce);
      this.#pongNonce = undefined;
    }
    if (this.#pingNonce !== undefined) {
      out.header(frameType.ping, 0, 4);
      out.uint32(this.#pingNonce);
      this.#pingNonce = undefined;
      this.#onPing(monotonicMs());
    }
    if (this.#received.isConnectionDue) {
      out.header(frameType.credit, 0, 4);
      out.uint32(this.#received.payConnection());
    }
  }

  /**
   * What the first of the ready streams has to send, but of its data one frame only.
   * @returns false when there is no room for it; nothing was sent then, and the stream stays first.
   */
  #sendStreamFrames(stream: Stream): boolean {
    const out = this.#outbox;
    if (stream.resetOut !== 'none') return this.#sendReset(stream);
    const head = stream.headToSend;
    const dataBytes = this.#sendableBytes(stream);
    // HEAD, CREDIT, DATA that is no crumb, END.
    const needed = (head === undefined ? 0 : headerBytes + head.length) + 3 * headerBytes + 4;
    if (!out.fits(needed + min(dataBytes, leastDataBytes))) return false;
    this.#ready.remove(stream);
    if (head !== undefined) {
      if (this.#role === 'client' && !this.#assignId(stream)) return true;
      out.header(this.#role === 'client' ? frameType.open : frameType.head, stream.id, head.length);
      out.text(head);
      stream.headToSend = undefined;
    }
    if (this.#received.isStreamDue(stream)) {
      out.header(frameType.credit, stream.id, 4);
      out.uint32(this.#received.payStream(stream));
    }
    if (stream.pendingBytes > 0) this.#sendData(stream, min(dataBytes, out.room - 2 * headerBytes));
    // A body that lost a chunk has nothing pending either: END would make what was sent of it look whole.
    if (stream.failure) return true;
    if (stream.sending === 'ending' && stream.pendingBytes === 0) {
      out.header(frameType.end, stream.id, 0);
      stream.sending = 'ended';
      // Who has answered in full without a look at the request's body will not look: it must not hold the window.
      if (this.#role === 'server' && !stream.body.begun) stream.body.fail(answeredUnread());
      this.closeIfEnded(stream);
    }
    return true;
  }

  #sendReset(stream: Stream): boolean {
    const out = this.#outbox;
    if (!out.fits(headerBytes + stream.resetReason.length)) return false;
    this.#ready.remove(stream);
    if (stream.resetOut !== 'queued') return true;
    out.header(frameType.reset, stream.id, stream.resetReason.length);
    out.text(stream.resetReason);
    stream.resetOut = 'sent';
    if (stream.resetIn) this.#streams.remove(stream);
    return true;
  }

  /** Forget the stream if both sides have sent END, on time or before a RESET. */
  closeIfEnded(stream: Stream): void {
    if (stream.sending !== 'ended' || stream.receiving !== 'ended') return;
    this.#streams.removeEnded(stream, this.credit.possibleCredits(stream));
  }

  /** What the next DATA frame of the stream could have. */
  #sendableBytes(stream: Stream): number {
    const { peer, credit } = this.#started as Started;
    return min(stream.pendingBytes, credit.streamBytes(stream), credit.connectionBytes, peer.maxFrameBytes);
  }

  #sendData(stream: Stream, length: number): void {
    const { credit } = this.#started as Started;
    if (length === 0) {
      if (credit.streamBytes(stream) > 0) this.#starved.push(stream);
      return;
    }
    if (!stream.pendingIsIntact(length)) {
      stream.reset(
        'the body was taken away',
        new ChannelError('CHANNEL_MISUSE', 'a chunk lost its bytes before it was sent'),
      );
      return;
    }
    credit.spend(stream, length);
    stream.pendingBytes -= length;
    this.#outbox.header(frameType.data, stream.id, length);
    let missing = length;
    while (missing > 0 && stream.firstWrite) {
      const write = stream.firstWrite;
      const part = min(missing, write.length - write.sent);
      this.#outbox.bytes(write.bytes, write.sent, write.sent + part);
      write.sent += part;
      missing -= part;
      if (write.sent < write.length) break;
      stream.firstWrite = write.next;
      if (!write.next) stream.lastWrite = undefined;
      write.settled.resolve();
    }
    if (stream.pendingBytes > 0) this.#ready.push(stream);
  }

  /** @returns false when OPEN has to wait; the stream is in `#held` then. */
  #assignId(stream: Stream): boolean {
    const { pacer } = this.#started as Started;
    const wait = this.#held.first ? 'until-seen' : pacer.wait(monotonicMs());
    if (wait !== 0) {
      this.#held.push(stream);
      if (wait !== 'until-seen') this.#holdFor(wait);
      return false;
    }
    stream.id = this.#nextId;
    this.#nextId += 2;
    pacer.opened();
    return true;
  }

  #holdFor(waitMs: number): void {
    if (this.#paceTimer !== undefined) return;
    this.#paceTimer = startTimer(() => {
      this.#paceTimer = undefined;
      this.#releaseHeld();
    }, waitMs);
  }

  #releaseHeld(): void {
    this.#held.moveAllTo(this.#ready);
    this.#schedulePump();
  }

  /** Whether ids are left for one more stream beside those that wait for theirs. */
  get hasIds(): boolean {
    return this.#nextId + 2 * this.#streams.count <= maxStreamId;
  }
}
