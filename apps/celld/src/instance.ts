import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GloveboxError, type InstanceId, idPatterns, newInstanceId } from '@glovebox/contract';

/** Whose cells celld's are: an id that stands in the name of everything that it makes, kept in its run directory. */
export function readInstance(runDirectory: string): InstanceId {
  const path = join(runDirectory, 'instance');
  const staged = join(runDirectory, `.instance.${process.pid}`);
  // Whole or not at all, and never in the place of another.
  writeFileSync(staged, `${newInstanceId()}\n`, { mode: 0o600 });
  try {
    linkSync(staged, path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  } finally {
    rmSync(staged);
  }
  const id = readFileSync(path, 'utf8').trim();
  if (!idPatterns.instance.test(id)) throw new GloveboxError('PLACE_UNSAFE', { message: `${path} is no instance id.` });
  return id as InstanceId;
}
