import {
  chmodSync,
  chownSync,
  lutimesSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export interface CopyOptions {
  /** Owner and group of everything in it. */
  uid?: number;
  fileMode?: number;
  directoryMode?: number;
  /** Of each file, by its number. */
  mtime?: (index: number) => Date;
  /** In which order the files are written: file systems tend to list them by it. */
  order?: 'sorted' | 'reversed';
}

/** Copy a node package, so that all that is no content is what the options say. @returns the copy's path. */
export function copyPackage(from: string, to: string, options: CopyOptions = {}): string {
  const { uid = 0, fileMode = 0o644, directoryMode = 0o755, mtime, order = 'sorted' } = options;
  const files = readdirSync(from, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1))
    .filter((path) => !path.startsWith('.glovebox/') && !path.startsWith('node_modules/'))
    .sort();
  if (order === 'reversed') files.reverse();
  const directories = new Set<string>([to]);
  for (const [i, path] of files.entries()) {
    const target = join(to, path);
    for (let at = dirname(target); at.startsWith(to); at = dirname(at)) directories.add(at);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(join(from, path)));
    chmodSync(target, fileMode);
    chownSync(target, uid, uid);
    if (mtime !== undefined) lutimesSync(target, mtime(i), mtime(i));
  }
  for (const path of directories) {
    chmodSync(path, directoryMode);
    chownSync(path, uid, uid);
  }
  return to;
}

/** Names in a directory as the file system lists them. */
export function listed(directory: string): string[] {
  const names: string[] = [];
  const open = opendirSync(directory);
  for (let entry = open.readSync(); entry !== null; entry = open.readSync()) names.push(entry.name);
  open.closeSync();
  return names;
}
