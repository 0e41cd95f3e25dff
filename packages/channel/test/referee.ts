import { defaults, type Frame, type HelloFields, type } from './wire.ts';

type Seen = Frame & { length: number };

interface Half {
  window: number;
  inFlight: number;
  sent: number;
  state: 'unopened' | 'head' | 'body' | 'ended' | 'reset';
}

interface Side {
  hello: HelloFields | undefined;
  rest: Buffer;
  /** What is still to come of the payload of a DATA frame that was judged by its header. */
  skip: number;
  inFlight: number;
  halves: Map<number, Half>;
  frames: number;
  /** The most that was on its way at once, to show that the limits were reached. */
  mostInFlight: number;
  credits: number;
  resets: number;
}

const side = (): Side => ({
  hello: undefined,
  rest: Buffer.alloc(0),
  skip: 0,
  inFlight: 0,
  halves: new Map(),
  frames: 0,
  mostInFlight: 0,
  credits: 0,
  resets: 0,
});

/**
 * Watches both directions of a connection between honest ends and throws at the first frame that docs/channel.md forbids.
 * Written from that page, with none of the code it judges. What it sees of one direction is what the sender may know of
 * the other at the latest, so its judgement of credit is never too strict.
 */
export class Referee {
  readonly client = side();
  readonly server = side();
  #highest = 0;

  see(from: 'client' | 'server', bytes: Buffer): void {
    const me = this[from];
    me.rest = Buffer.concat([me.rest, bytes]);
    for (;;) {
      const skipped = Math.min(me.skip, me.rest.length);
      me.skip -= skipped;
      me.rest = me.rest.subarray(skipped);
      if (me.rest.length < 12) return;
      const length = me.rest.readUInt32BE(0);
      const kind = me.rest.readUInt8(4);
      // DATA counts from its header on: credit may come for the first part of it.
      if (kind !== type.data && me.rest.length < 12 + length) return;
      this.#judge(from, {
        type: kind,
        flags: me.rest.readUInt8(5),
        reserved: me.rest.readUInt16BE(6),
        id: me.rest.readUInt32BE(8),
        length,
        payload: kind === type.data ? Buffer.alloc(0) : me.rest.subarray(12, 12 + length),
      });
      me.rest = me.rest.subarray(12);
      me.skip = length;
    }
  }

  #judge(from: 'client' | 'server', frame: Seen): void {
    const me = this[from];
    const other = this[from === 'client' ? 'server' : 'client'];
    const fail: (why: string) => never = (why) => {
      throw new Error(`${from} sent a frame of type ${frame.type} on ${frame.id} (${frame.length} bytes): ${why}`);
    };
    me.frames++;
    if (frame.flags !== 0 || frame.reserved !== 0) fail('reserved bytes');
    if (!me.hello) {
      if (frame.type !== type.hello || frame.length !== 36) fail('not HELLO first');
      me.hello = readHello(frame.payload);
      return;
    }
    if (frame.type === type.hello) fail('HELLO twice');
    const limits = other.hello ?? fail('before the HELLO of the other side');
    if (frame.length > limits.maxFrameBytes) fail('too long');
    if (frame.type === type.ping || frame.type === type.pong) {
      if ((frame.type === type.ping) !== (from === 'server')) fail('wrong direction');
      return;
    }
    if (frame.type === type.credit) {
      this.#credit(from, frame, fail);
      return;
    }

    if (frame.type === type.open) {
      if (from !== 'client' || frame.id <= this.#highest || frame.id % 2 === 0) fail('no new stream');
      this.#highest = frame.id;
      if (frame.length > limits.maxHeadBytes) fail('head too long');
      me.halves.set(frame.id, { window: limits.streamWindowBytes, inFlight: 0, sent: 0, state: 'body' });
      other.halves.set(frame.id, { window: me.hello.streamWindowBytes, inFlight: 0, sent: 0, state: 'head' });
      return;
    }
    const half = me.halves.get(frame.id) ?? fail('never opened');
    if (half.state === 'reset') fail('after RESET');
    if (frame.type === type.reset) {
      half.state = 'reset';
      me.resets++;
      return;
    }
    if (half.state === 'ended') fail('after END');
    if (frame.type === type.head) {
      if (from !== 'server' || half.state !== 'head') fail('not due');
      half.state = 'body';
      return;
    }
    if (half.state !== 'body') fail('before HEAD');
    if (frame.type === type.end) {
      half.state = 'ended';
      return;
    }
    if (frame.type !== type.data) fail('unknown');
    if (frame.length === 0) fail('empty');
    half.inFlight += frame.length;
    half.sent += frame.length;
    me.inFlight += frame.length;
    me.mostInFlight = Math.max(me.mostInFlight, me.inFlight);
    if (half.inFlight > half.window) fail('over the credit of the stream');
    if (me.inFlight > limits.connectionWindowBytes) fail('over the credit of the connection');
  }

  #credit(from: 'client' | 'server', frame: Seen, fail: (why: string) => never): void {
    const me = this[from];
    const other = this[from === 'client' ? 'server' : 'client'];
    const bytes = frame.payload.readUInt32BE();
    me.credits++;
    if (frame.id === 0) {
      if (bytes < Math.ceil((me.hello as HelloFields).connectionWindowBytes / 4)) fail('crumbs');
      other.inFlight -= bytes;
      if (other.inFlight < 0) fail('more than was sent');
      return;
    }
    const half = other.halves.get(frame.id) ?? fail('never opened');
    if (me.halves.get(frame.id)?.state === 'reset') fail('after RESET');
    if (bytes < Math.ceil((me.hello as HelloFields).streamWindowBytes / 4)) fail('crumbs');
    half.inFlight -= bytes;
    if (half.inFlight < 0) fail('more than was sent');
  }
}

function readHello(payload: Buffer): HelloFields {
  return {
    ...defaults,
    maxFrameBytes: payload.readUInt32BE(12),
    maxHeadBytes: payload.readUInt32BE(16),
    streamWindowBytes: payload.readUInt32BE(20),
    connectionWindowBytes: payload.readUInt32BE(24),
    maxStreams: payload.readUInt32BE(28),
    maxOpensPerSecond: payload.readUInt32BE(32),
  };
}
