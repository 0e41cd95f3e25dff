import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ownUsers, requireDirectory } from '@glovebox/cell/host';
import { GloveboxError } from '@glovebox/contract';

/**
 * Where to connect to celld. Whoever can put a socket there has plans and the bytes of cells, and can pretend to any of
 * them: so it must belong to root, to our own user or to the one that celld is said to run as, in a directory that nobody
 * else can change. Links are followed first, and what they lead to is what is judged and connected to.
 *
 * @throws GloveboxError `PLACE_UNSAFE`, `CELLD_UNREACHABLE`.
 */
export function findCelld(socketPath: string, celldUid: number | undefined): string {
  const users = [...ownUsers(), ...(celldUid === undefined ? [] : [celldUid])];
  const { path, uid } = lookAt(socketPath);
  requireDirectory(dirname(path), users);
  if (users.includes(uid)) return path;
  throw new GloveboxError('PLACE_UNSAFE', {
    message: `${path} belongs to uid ${uid}, who is not expected to be celld.`,
  });
}

function lookAt(socketPath: string): { path: string; uid: number } {
  try {
    const path = join(realpathSync(dirname(socketPath)), basename(socketPath));
    const stat = lstatSync(path);
    if (!stat.isSocket()) throw new GloveboxError('PLACE_UNSAFE', { message: `${path} is no socket.` });
    return { path, uid: stat.uid };
  } catch (cause) {
    if (GloveboxError.is(cause)) throw cause;
    throw new GloveboxError('CELLD_UNREACHABLE', {
      message: `celld does not answer at ${socketPath}: ${(cause as Error).message}`,
      cause,
    });
  }
}
