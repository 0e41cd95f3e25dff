import { statSync } from 'node:fs';
import type { EngineFacts } from './engine-facts.ts';

/** Where an engine looks for a runtime that it knows by its file name. */
const programDirectories = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/**
 * What changes when a runtime's program does, on the engine's own host: an engine does not tell. Every file that may be
 * the program counts, and a file that is not there is told from one that is.
 */
export function identifyRuntime({ runtime, info }: EngineFacts): string {
  const path = info.Runtimes?.[runtime]?.path || runtime;
  const candidates = path.startsWith('/') ? [path] : programDirectories.map((directory) => `${directory}/${path}`);
  return candidates.map(identifyFile).join(' ');
}

function identifyFile(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '-' : [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(':');
}
