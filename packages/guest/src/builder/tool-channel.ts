import { closeSync, readSync, writeSync } from 'node:fs';
import { CellChannel } from '../harness/cell-channel.ts';

/** The channel of a cell that becomes a tool. */
export interface ToolChannel {
  channel: CellChannel;
  /** Once the channel is closed: leave its descriptors to the tool, or from it. */
  leave(): void;
}

const socketFd = 3;
const stdioPrefix = 'stdio=';
/** Between two tries of a descriptor that does not block. */
const retryMs = 1;

/**
 * The channel on a descriptor of its own, which the tool must not inherit; or, where the last argument is `stdio=` and a
 * marker, on fds 0 and 1, which the tool gets when the channel is done with them. Then this is how they change hands:
 *
 * 1. The builder has read both answers to their ends, so that no stream is open, and closes its end of the channel, which
 *    sends nothing any more. It writes the marker to fd 1: the bytes of the channel end exactly where the marker begins.
 * 2. The host has seen the marker. From now on it sends nothing for the channel; it sends the marker, and after that what is
 *    for the tool.
 * 3. The builder reads fd 0 up to the end of the marker and not a byte further. Whatever the host had sent for the channel
 *    meanwhile is dropped with that.
 * 4. The builder becomes the tool, for which fds 0 and 1 are as they were when the cell began: reads and writes are plain
 *    calls that never make them non-blocking, and nothing closes them.
 *
 * The host ends a cell that does not come so far in time.
 */
export function openToolChannel(lastArgument: string | undefined): ToolChannel {
  if (!lastArgument?.startsWith(stdioPrefix)) {
    return {
      channel: new CellChannel({ readFd: socketFd, writeFd: socketFd }),
      leave: () => closeSync(socketFd),
    };
  }
  const marker = lastArgument.slice(stdioPrefix.length);
  if (marker === '') throw new Error('there is no marker for the end of the channel');
  return {
    channel: new CellChannel({ readFd: 0, writeFd: 1 }),
    leave: () => {
      writeAll(1, Buffer.from(marker, 'latin1'));
      dropThrough(0, marker);
    },
  };
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length; ) from += trying(() => writeSync(fd, bytes, from));
}

/** As many bytes as are missing for the marker at least cannot be of what is behind it. */
function dropThrough(fd: number, marker: string): void {
  const chunk = Buffer.alloc(marker.length);
  for (let last = ''; last !== marker; ) {
    const length = trying(() => readSync(fd, chunk, 0, marker.length - fitting(last, marker), null));
    if (length === 0) throw new Error('the host ended the input before it was the turn of the tool');
    last = (last + chunk.toString('latin1', 0, length)).slice(-marker.length);
  }
}

/** How many bytes at the end of `text` may be the beginning of the marker. */
function fitting(text: string, marker: string): number {
  for (let length = text.length; length > 0; length--) if (text.endsWith(marker.slice(0, length))) return length;
  return 0;
}

/** The host may have passed a descriptor that does not block: the mode is of what both ends of a `dup` share. */
function trying(call: () => number): number {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
}
