import { Duplex, Readable, Writable } from 'node:stream';
import { MarkerSearch } from './marker-search.ts';

/**
 * The streams of a cell whose engine has nothing for it but the standard streams. What a driver has of such a cell is
 * `input`, which writes to fd 0, and `output`, which reads what fd 1 says; see ChannelWiring for what the cell makes of them.
 *
 * To end or destroy what is made here ends `input` and destroys `output`. Where both come by one connection, with the error
 * stream, that must mean no more than: nothing more for fd 0, and what else fd 1 says is dropped.
 */

/**
 * The channel of a cell that has it on its standard streams for life.
 *
 * A write is done when `input` has taken it. An end of `output`, or its failure, is that of the channel.
 */
export function joinStreams(input: Writable, output: Readable): Duplex {
  const channel = new Duplex({
    read: () => void output.resume(),
    write: (chunk: Uint8Array, _encoding, done) => void input.write(chunk, done),
    final: (done) => {
      input.end();
      done();
    },
    destroy: (error, done) => {
      // What was written still goes out, as far as it is read: a cell that reads no more is killed, not waited for.
      input.end();
      output.destroy();
      done(error);
    },
  });
  input.on('error', (error) => channel.destroy(error));
  takeFrom(output, {
    data: (chunk) => {
      if (!channel.push(chunk)) output.pause();
    },
    end: () => channel.push(null),
    broken: (error) => channel.destroy(error),
  });
  return channel;
}

export interface BuilderStreams {
  /** Ends where the cell says the marker. What is written to it after that goes nowhere. */
  channel: Duplex;
  /** The tool's. What is written to it waits until the cell has said the marker. */
  stdin: Writable;
  /** The tool's: all that comes after the marker. */
  stdout: Readable;
}

/**
 * The streams of a builder cell, which uses its standard streams for the channel first, and then leaves them to its tool.
 *
 * The order: the cell has closed its channel, says the marker, and reads on, dropping what it reads. The host has seen the
 * marker: from now on it sends nothing for the channel; it says the marker too, and then what is for the tool. The cell has
 * read the marker, and not a byte more: it becomes the tool. So nothing of the channel gets to the tool, whatever either
 * side had on its way.
 *
 * @param marker new for each cell, and not to be guessed: 16 random bytes or more. Strangers have written what goes through
 *   the channel, and must not be able to end it.
 */
export function builderStreams(input: Writable, output: Readable, marker: Uint8Array): BuilderStreams {
  /** Who has the use of `input`. */
  let user: 'channel' | 'tool' | 'nobody' = 'channel';
  const handedOver = Promise.withResolvers<void>();
  const split = splitAtMarker(output, marker, () => {
    if (user !== 'channel') return;
    user = 'tool';
    input.write(marker);
    handedOver.resolve();
  });
  const endInput = (whose: 'channel' | 'tool'): void => {
    if (user !== whose) return;
    user = 'nobody';
    input.end();
    handedOver.resolve();
  };

  const channel = new Duplex({
    read: () => void split.channel.resume(),
    write: (chunk: Uint8Array, _encoding, done) => {
      if (user === 'channel') input.write(chunk, done);
      else done();
    },
    final: (done) => {
      endInput('channel');
      done();
    },
    destroy: (error, done) => {
      endInput('channel');
      split.channel.destroy();
      done(error);
    },
  });
  takeFrom(split.channel, {
    data: (chunk) => {
      if (!channel.push(chunk)) split.channel.pause();
    },
    end: () => channel.push(null),
    broken: (error) => channel.destroy(error),
  });
  const stdin = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void handedOver.promise.then(() => input.write(chunk, done)),
    final: (done) => {
      void handedOver.promise.then(() => {
        endInput('tool');
        done();
      });
    },
    destroy: (error, done) => {
      void handedOver.promise.then(() => endInput('tool'));
      done(error);
    },
  });
  // A cell that dies takes its descriptors along at any time, and not every tool's are used. Whoever writes is told.
  stdin.on('error', () => {});
  input.on('error', (error) => {
    if (user === 'channel') channel.destroy(error);
    else stdin.destroy(error);
  });
  return { channel, stdin, stdout: split.stdout };
}

/**
 * What comes before a marker, and what comes after it. `channel` ends where the marker begins; a source that ends without
 * it ends both. One that breaks, breaks what has not ended.
 *
 * Each half is read at its reader's pace, and `stdout` not before its turn. Who leaves `channel` has the rest of it dropped.
 *
 * @param onMarker called once, before anybody can have read what comes after it.
 */
export function splitAtMarker(
  source: Readable,
  marker: Uint8Array,
  onMarker: () => void = () => {},
): { channel: Readable; stdout: Readable } {
  const search = new MarkerSearch(marker);
  let isFound = false;
  const half = (isItsTurn: () => boolean): Readable =>
    new Readable({
      read: () => {
        if (isItsTurn()) source.resume();
      },
      destroy: (error, done) => {
        if (stdout.destroyed && (isFound || channel.destroyed)) source.destroy();
        else if (isItsTurn()) source.resume();
        done(error);
      },
    });
  const channel = half(() => !isFound);
  const stdout = half(() => isFound);

  takeFrom(source, {
    data: (chunk) => {
      if (isFound) {
        if (!stdout.push(chunk)) source.pause();
        return;
      }
      const { before, after } = search.take(chunk);
      for (const part of before) if (!channel.destroyed && !channel.push(part)) source.pause();
      if (after === undefined) return;
      isFound = true;
      channel.push(null);
      onMarker();
      if (stdout.destroyed) source.destroy();
      else if (after.length === 0 || stdout.push(after)) source.resume();
      else source.pause();
    },
    end: () => {
      if (!isFound) {
        const held = search.held();
        if (held.length > 0) channel.push(held);
        channel.push(null);
      }
      stdout.push(null);
    },
    broken: (error) => {
      channel.destroy(error);
      stdout.destroy(error);
    },
  });
  return { channel, stdout };
}

interface Taker {
  data: (chunk: Uint8Array) => void;
  end: () => void;
  /** It failed, or was closed before its end. */
  broken: (error: Error | undefined) => void;
}

function takeFrom(source: Readable, taker: Taker): void {
  let isOver = false;
  const once = (action: () => void): void => {
    if (isOver) return;
    isOver = true;
    action();
  };
  source.on('data', taker.data);
  source.on('end', () => once(taker.end));
  source.on('error', (error) => once(() => taker.broken(error)));
  source.on('close', () => once(() => taker.broken(undefined)));
}
