import { readFileSync } from 'node:fs';
import { GloveboxError } from '@glovebox/contract';
import { mostConnections } from './serve.ts';

/** What a driver opens for one cell, at most: pipes, or connections to an engine. */
const filesOfCell = 8;
/** Modules, directories that are looked through, the socket, and what a boot opens for a moment. */
const otherFiles = 128;

/**
 * Refuse to promise more cells than this process can open files for: without one to spare it could neither take the
 * connection that ends a cell nor look at the host.
 *
 * @throws GloveboxError `USAGE`.
 */
export function requireOpenFiles(maxCells: number): void {
  const needed = mostConnections(maxCells) + filesOfCell * maxCells + otherFiles;
  // Node.js raises the soft limit to the hard one at its start.
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  if (limit === undefined || Number(limit) >= needed) return;
  throw new GloveboxError('USAGE', {
    message: `--max-cells ${maxCells} needs ${needed} open files, and the limit is ${limit}.`,
    hint: 'Raise the limit of open files, or start celld with fewer --max-cells.',
  });
}
