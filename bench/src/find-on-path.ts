import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { environment } from './environment.ts';

/** Where a program is installed; also where it is not on the path of who is no administrator. */
export function findOnPath(name: string): string | undefined {
  const folders = [...environment.PATH.split(':'), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
