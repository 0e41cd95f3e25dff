/** Loaded into the process that is to die; see kill-at-nth-write.ts. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const at = Number(new URL(import.meta.url).searchParams.get('n'));
let changes = 0;

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Functions = Record<string, AnyFunction | undefined>;

const names = [
  'write',
  'writev',
  'writeFile',
  'appendFile',
  'truncate',
  'ftruncate',
  'fsync',
  'fdatasync',
  'sync',
  'datasync',
  'link',
  'symlink',
  'rename',
  'unlink',
  'rm',
  'rmdir',
  'mkdir',
  'mkdtemp',
  'chmod',
  'fchmod',
  'copyFile',
  'cp',
];

function count(): void {
  if (++changes === at) process.kill(process.pid, 'SIGKILL');
}

/** Flags as text or as a number; without any, a file is opened for reading. */
function opensForWriting(flags: unknown): boolean {
  if (typeof flags === 'number')
    return (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0;
  return typeof flags === 'string' && /[wa+]/.test(flags);
}

function wrap(target: Functions, name: string, changesSomething: (args: unknown[]) => boolean): void {
  const original = target[name];
  if (typeof original !== 'function') return;
  target[name] = function (...args) {
    if (changesSomething(args)) count();
    return original.apply(this, args);
  };
}

function wrapAll(target: Functions): void {
  for (const name of names) for (const form of [name, `${name}Sync`]) wrap(target, form, () => true);
  for (const form of ['open', 'openSync']) wrap(target, form, ([, flags]) => opensForWriting(flags));
}

wrapAll(fs as unknown as Functions);
wrapAll(fs.promises as unknown as Functions);
// Writing, syncing and truncating an open file are methods of its handle.
const handle = await fs.promises.open('/dev/null');
wrapAll(Object.getPrototypeOf(handle) as Functions);
await handle.close();
syncBuiltinESMExports();
