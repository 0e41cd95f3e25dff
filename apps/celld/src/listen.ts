import { chmodSync, chownSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { requireDirectory } from '@glovebox/cell/host';
import { GloveboxError } from '@glovebox/contract';
import { claimDirectory } from './places.ts';

/**
 * Listen at a path in a directory that nobody else can change: whoever could would have clients talk to another. Who may
 * connect is decided by that directory and by the mode of the socket, and by nothing else.
 *
 * One celld has a directory at a time, so of two that start only one can take away a socket that a dead one left; one at
 * which anybody answers is never taken away.
 *
 * @throws GloveboxError `PLACE_UNSAFE`, `ALREADY_EXISTS`.
 */
export async function listen(server: Server, path: string, groupId: number | undefined): Promise<void> {
  const directory = dirname(path);
  requireDirectory(directory);
  claimDirectory(directory);
  await removeStaleSocket(path);
  // Until it is given to the group nobody else can connect, not even for a moment.
  const umask = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path }, () => {
        server.off('error', reject);
        // A connection that cannot be taken is its client's loss: without a listener it would be the end of all.
        server.on('error', () => {});
        resolve();
      });
    });
  } finally {
    process.umask(umask);
  }
  if (groupId === undefined) return;
  chownSync(path, process.geteuid?.() ?? 0, groupId);
  chmodSync(path, 0o660);
}

async function removeStaleSocket(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isSocket()) throw new GloveboxError('ALREADY_EXISTS', { message: `${path} is there and is no socket.` });
  if (await isAnswered(path)) throw new GloveboxError('ALREADY_EXISTS', { message: `Somebody listens at ${path}.` });
  unlinkSync(path);
}

/** Only a refusal shows that nobody listens. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}
