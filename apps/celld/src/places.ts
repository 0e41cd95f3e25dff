import { realpathSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { requireDirectory, requirePrivateDirectory, requireSafe } from '@glovebox/cell/host';
import { GloveboxError } from '@glovebox/contract';
import { openOwnership } from '@glovebox/engine/ownership';
import type { Settings } from './settings.ts';

/**
 * Whatever celld runs, connects to or writes in must be in no one else's hand: its own directory, the program of a runtime,
 * and what is above an engine's socket and the claims of uids. A link on the way is followed first: what is judged is what
 * it leads to, by way of places that only root and celld's user can change.
 *
 * @throws GloveboxError `PLACE_UNSAFE`, `ALREADY_EXISTS`.
 */
export function requirePlaces(settings: Settings): void {
  const { driver, runtime, engine, claimsDirectory, runDirectory } = settings;
  requirePrivateDirectory(runDirectory);
  claimDirectory(runDirectory);
  if (runtime !== undefined && isAbsolute(runtime)) requireSafe(realPath(runtime));
  if (driver === 'docker') requireDirectory(realPath(dirname(engine)));
  if (claimsDirectory !== undefined) requireDirectory(realPath(dirname(claimsDirectory)));
}

/**
 * Have a directory for one celld alone, as long as this process lives.
 *
 * @throws GloveboxError `ALREADY_EXISTS`.
 */
export function claimDirectory(directory: string): void {
  if (openOwnership(directory).claim()) return;
  throw new GloveboxError('ALREADY_EXISTS', {
    message: `Another celld has ${directory}, or nothing can be written there.`,
    hint: 'Stop it, or choose another directory.',
  });
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    throw new GloveboxError('PLACE_UNSAFE', {
      message: `${path} cannot be looked at: ${(cause as Error).message}.`,
      cause,
    });
  }
}
