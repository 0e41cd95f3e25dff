import { lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { defineNode } from '@glovebox/sdk';

interface Input {
  path: string;
  /** What the file's content begins with; the rest is the secret. */
  marker: string;
}

/** Everything readable is looked through, by every name that the host's root might have from in here. */
export default defineNode<Input, object, object>(async (ctx) => {
  const { path, marker } = ctx.input;
  const found: { where: string; text: string }[] = [];
  const refusals: Record<string, number> = {};
  let looked = 0;

  const look = (file: string): void => {
    looked++;
    try {
      const text = readFileSync(file, 'latin1').slice(0, 1_000_000);
      const at = text.indexOf(marker);
      if (at !== -1) found.push({ where: file, text: text.slice(at, at + 200) });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
      refusals[code] = (refusals[code] ?? 0) + 1;
    }
  };

  const walk = (directory: string, depth: number): void => {
    let names: string[];
    try {
      names = readdirSync(directory);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
      refusals[code] = (refusals[code] ?? 0) + 1;
      return;
    }
    for (const name of names) {
      const full = join(directory, name);
      try {
        const stat = lstatSync(full);
        if (stat.isDirectory() && depth > 0) walk(full, depth - 1);
        else if (stat.isFile() && stat.size < 50_000_000) look(full);
        else if (stat.isSymbolicLink()) look(readlinkSync(full));
      } catch {
        refusals.unreadable = (refusals.unreadable ?? 0) + 1;
      }
    }
  };

  const roots = [
    '/proc/1/root',
    '/proc/self/root',
    '/proc/self/cwd',
    '/proc/thread-self/root',
    '/..',
    '/tmp/..',
    '/glovebox/../..',
  ];
  look(path);
  for (const root of roots) look(join(root, path));
  for (let fd = 0; fd < 64; fd++) {
    look(`/proc/self/fd/${fd}`.concat(path));
    if (fd > 3) look(`/dev/fd/${fd}`);
  }
  try {
    symlinkSync(path, '/tmp/link');
    look('/tmp/link');
  } catch {
    refusals.symlink = 1;
  }
  for (const root of [
    '/glovebox',
    '/tmp',
    '/dev',
    '/etc',
    '/proc/self',
    '/proc/1',
    '/sys',
    '/home',
    '/root',
    '/run',
    '/var',
    '/mnt',
    '/host',
    '/',
  ])
    walk(root, 4);

  for (const { where, text } of found) {
    ctx.log.warn(`found in ${where}`, { text });
    console.log(text);
  }
  if (found.length > 0) await ctx.files.write('loot.json', JSON.stringify(found), 'application/json');
  return { looked, refusals, found };
});
