import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkfifoSync } from '../../../test/support/fifo.ts';

/** Two real pipes, as engines connect a cell's standard streams: what Node.js connects its children by are sockets. */
export interface Pipes {
  /** For the child. */
  readonly fds: [number, number];
  /** Writes to the child's fd 0. */
  readonly input: Socket;
  /** Reads what it writes to fd 1. */
  readonly output: Socket;
  /** Once the child has them: without it the child's end would not be told. */
  closeChildsEnds(): void;
}

export function makePipes(): Pipes {
  const dir = mkdtempSync(join(tmpdir(), 'guest-pipes-'));
  const open = (name: string): { readFd: number; writeFd: number; hostRead: number; hostWrite: number } => {
    const path = mkfifoSync(join(dir, name));
    const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
    // In this order none waits for the other end.
    const hostRead = openSync(path, O_RDONLY | O_NONBLOCK);
    const hostWrite = openSync(path, O_WRONLY | O_NONBLOCK);
    return { hostRead, hostWrite, readFd: openSync(path, O_RDONLY), writeFd: openSync(path, O_WRONLY) };
  };
  const [input, output] = [open('input'), open('output')];
  rmSync(dir, { recursive: true });
  for (const fd of [input.hostRead, input.writeFd, output.hostWrite, output.readFd]) closeSync(fd);
  return {
    fds: [input.readFd, output.writeFd],
    input: new Socket({ fd: input.hostWrite, readable: false, writable: true }),
    output: new Socket({ fd: output.hostRead, readable: true, writable: false }),
    closeChildsEnds: () => {
      for (const fd of [input.readFd, output.writeFd]) closeSync(fd);
    },
  };
}
