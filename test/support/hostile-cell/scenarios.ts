import { closeSync, writeSync } from 'node:fs';
import { credit, data, end, frame, head, hello, reset, type, uint32 } from '../../../packages/channel/test/wire.ts';
import { openFrame, type Peer, wait } from './peer.ts';

/** What a hostile cell does. Each is over when it returns; the process then lives on until it is killed. */
export type Scenario = (peer: Peer, options: string[]) => void;

const record = '{"source":"node","level":"info","message":"x"}\n';

/** The text of options that describe a long one: before, what is repeated, how often, after. */
const long = ([before = '', unit = '', times = '0', after = '']: string[]): string =>
  before + unit.repeat(Number(times)) + after;

const floods: Record<string, (n: number) => Buffer> = {
  hello: () => hello(),
  open: (n) => openFrame(1001 + 2 * n, 'GET', '/nothing'),
  'open-reset': (n) => Buffer.concat([openFrame(1001 + 2 * n, 'PUT', `/files/f${n}`), reset(1001 + 2 * n)]),
  head: () => head(1),
  data: () => data(999, 'x'),
  'empty-data': () => data(1, ''),
  end: () => end(1),
  reset: () => reset(1),
  credit: () => credit(0, 1),
  'large-credit': () => credit(1, 0xffff_ffff),
  ping: () => frame(type.ping, 0, uint32(1)),
  pong: () => frame(type.pong, 0, uint32(1)),
  unknown: () => frame(77, 0, 'x'),
  zeros: () => Buffer.alloc(4096),
  text: () => Buffer.from('GET / HTTP/1.1\r\n\r\n'),
  'huge-frame': () => {
    const bytes = data(1, 'x');
    bytes.writeUInt32BE(0xffff_ffff, 0);
    return bytes;
  },
};
export const floodNames = Object.keys(floods);

export const scenarios: Record<string, Scenario> = {
  'silence after the job'(peer) {
    peer.begin();
  },
  'exit at once'() {
    process.exit(0);
  },
  'garbage at once'(peer) {
    peer.say(Buffer.from('hello world, this is console.log\n'));
  },
  'exit after asking for the job'(peer) {
    peer.say(hello());
    peer.request('GET', '/job');
    process.exit(3);
  },

  output(peer, options) {
    peer.begin();
    peer.output(long(options));
  },
  error(peer, options) {
    peer.begin();
    peer.error(long(options));
  },
  progress(peer, [times = '1', ...options]) {
    peer.begin();
    for (let i = 0; i < Number(times); i++) {
      const id = peer.request('POST', '/progress', long(options));
      peer.await(type.end, id);
      if (i % 1500 === 1499) wait(1000);
    }
    peer.output('1');
  },

  /** Frames of one kind, as fast as they go, in a channel that is up. */
  flood(peer, [kind = '', times = '100000']) {
    peer.begin();
    const make = floods[kind] as (n: number) => Buffer;
    for (let n = 0; n < Number(times); n += 100) peer.say(...Array.from({ length: 100 }, (_, i) => make(n + i)));
  },
  /** The same log line over and over, then a result. */
  log(peer, [lines = '1', ...options]) {
    peer.begin();
    const line = Buffer.from(options.length === 0 ? record : long(options));
    const log = peer.open('POST', '/log');
    const batch = Math.max(1, Math.floor(65_536 / line.length));
    for (let left = Number(lines); left > 0; left -= batch)
      peer.stream(log, Buffer.concat(Array.from({ length: Math.min(left, batch) }, () => line)), 16_384);
    peer.output('1');
  },
  /** A log line without an end, a byte a frame. */
  'log in crumbs'(peer, [bytes = '1000']) {
    peer.begin();
    peer.stream(peer.open('POST', '/log'), Buffer.alloc(Number(bytes), 'x'), 1);
    peer.output('1');
  },
  /** What is written to fd 1 or 2. */
  raw(peer, [fd = '1', times = '1', ...options]) {
    peer.begin();
    const chunk = Buffer.from(long(options));
    for (let i = 0; i < Number(times); i++)
      for (let at = 0; at < chunk.length; ) at += writeSync(Number(fd), chunk, at);
    peer.output('1');
  },
  'die with last words'(peer, [text = '', code = '1']) {
    peer.begin();
    writeSync(2, text);
    process.exit(Number(code));
  },

  'output in crumbs'(peer, [bytes = '1000']) {
    peer.begin();
    const id = peer.open('POST', '/result', { 'glovebox-result': 'output' });
    peer.stream(id, Buffer.from(JSON.stringify('x'.repeat(Number(bytes) - 2))), 1);
    peer.say(end(id));
  },
  /** A result that comes a byte at a time and has no end. */
  'endless output'(peer) {
    peer.begin();
    const id = peer.open('POST', '/result', { 'glovebox-result': 'output' });
    for (;;) {
      peer.say(data(id, '1'));
      wait(10);
    }
  },
  'output of bytes'(peer, [hex = '']) {
    peer.begin();
    peer.output(Buffer.from(hex, 'hex'));
  },
  'output twice'(peer) {
    peer.begin();
    peer.say(
      openFrame(2001, 'POST', '/result', { 'glovebox-result': 'output' }),
      data(2001, '"first"'),
      openFrame(2003, 'POST', '/result', { 'glovebox-result': 'output' }),
      data(2003, '"second"'),
      end(2003),
      end(2001),
    );
  },
  /** A result, and in the same write what no cell may say. */
  'output, then garbage'(peer) {
    peer.begin();
    peer.say(
      openFrame(2001, 'POST', '/result', { 'glovebox-result': 'output' }),
      data(2001, '1'),
      end(2001),
      Buffer.alloc(64, 0xff),
    );
  },
  'garbage, then output'(peer) {
    peer.begin();
    peer.say(
      Buffer.alloc(64, 0xff),
      openFrame(2001, 'POST', '/result', { 'glovebox-result': 'output' }),
      data(2001, '1'),
      end(2001),
    );
  },
  'output, then progress, log and files'(peer) {
    peer.begin();
    peer.say(openFrame(2001, 'POST', '/progress'), openFrame(2003, 'PUT', '/files/late'));
    peer.say(
      openFrame(2005, 'POST', '/result', { 'glovebox-result': 'output' }),
      data(2005, '1'),
      end(2005),
      data(2001, '{"fraction":1}'),
      end(2001),
      data(2003, 'late'),
      end(2003),
      openFrame(2007, 'POST', '/progress'),
      data(2007, '{"fraction":1}'),
      end(2007),
      openFrame(2009, 'PUT', '/files/later'),
      end(2009),
    );
  },
  'output, then exit'(peer) {
    peer.begin();
    peer.output('1');
    process.exit(7);
  },

  /** Uploads that begin and are broken off. */
  'files broken off'(peer, [times = '100']) {
    peer.begin();
    for (let i = 0; i < Number(times); i++) {
      const id = peer.open('PUT', `/files/f${i}`);
      peer.say(data(id, 'x'), reset(id));
      peer.await(type.reset, id);
      if (i % 1500 === 1499) wait(1000);
    }
    peer.output('1');
  },
  /** As many as may be open, a byte each, and no end. */
  'files without end'(peer, [count = '50']) {
    peer.begin();
    const ids = Array.from({ length: Number(count) }, (_, i) => peer.open('PUT', `/files/f${i}`));
    for (;;) {
      peer.say(...ids.map((id) => data(id, 'x')));
      wait(20);
    }
  },
  'file without end, at full speed'(peer) {
    peer.begin();
    const id = peer.open('PUT', '/files/f');
    const bytes = Buffer.alloc(1 << 20);
    for (;;) peer.stream(id, bytes);
  },
  'one file name many times'(peer, [times = '10']) {
    peer.begin();
    const ids = Array.from({ length: Number(times) }, () => peer.open('PUT', '/files/same'));
    for (const id of ids) peer.say(data(id, String(id)), end(id));
    for (const id of ids) peer.await(type.end, id);
    peer.output('1');
  },
  'requests that are refused'(peer, [times = '1000', path = '/nothing']) {
    peer.begin();
    for (let i = 0; i < Number(times); i++) {
      peer.await(type.end, peer.request('GET', path));
      if (i % 1500 === 1499) wait(1000);
    }
    peer.output('1');
  },
  'a body for nobody'(peer, [megabytes = '10']) {
    peer.begin();
    const id = peer.open('PUT', '/nothing');
    const bytes = Buffer.alloc(1 << 20);
    for (let i = 0; i < Number(megabytes); i++) peer.stream(id, bytes);
    peer.output('1');
  },
  'a frame that stops in the middle'(peer) {
    peer.begin();
    const id = peer.open('POST', '/result', { 'glovebox-result': 'output' });
    peer.say(data(id, Buffer.alloc(1000, '1')).subarray(0, 500));
  },
  'ask for everything and read nothing'(peer) {
    peer.begin();
    peer.request('GET', '/bundle');
    peer.request('GET', '/cancel');
    for (let i = 0; i < 50; i++) peer.request('GET', '/nothing');
  },
  'close the channel and live on'(peer) {
    peer.begin();
    closeSync(3);
  },
  'close everything and live on'(peer) {
    peer.begin();
    for (const fd of [1, 2, 3]) closeSync(fd);
  },
  /** So many frames that the host takes them in several turns, and gone before it has. */
  'leave a backlog and die'(peer) {
    peer.begin();
    const id = peer.open('PUT', '/nothing');
    // With nothing left unread the host's end of the socket sees an end, and no failure.
    peer.await(type.end, id);
    peer.say(...Array.from({ length: 14_000 }, () => data(id, 'x')));
    process.kill(process.pid, 'SIGKILL');
  },
  'hear of a cancellation and go on'(peer) {
    peer.begin();
    const id = peer.request('GET', '/cancel');
    writeSync(1, 'ready\n');
    peer.await(type.end, id);
    peer.say(openFrame(2001, 'POST', '/progress'), data(2001, '{"message":"cancelled"}'), end(2001));
    for (;;) wait(1000);
  },
  'answer a cancellation by an output'(peer) {
    peer.begin();
    const id = peer.request('GET', '/cancel');
    writeSync(1, 'ready\n');
    peer.await(type.end, id);
    peer.output('"in spite of it"');
  },
};
