import { glob, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { type ElfFile, readElf } from './elf.ts';

/** A shared library of the host and where it goes in the image. */
export interface SharedLibrary {
  /** The name by which it is loaded, such as `libc.so.6`. */
  name: string;
  source: string;
  imagePath: string;
}

/** Architectures as Debian names their library directories. */
const multiarch: Readonly<Record<number, string>> = { 62: 'x86_64-linux-gnu', 183: 'aarch64-linux-gnu' };

/** Debian packages of what Node.js loads. */
const debianPackages: Readonly<Record<string, string>> = {
  'libatomic.so.1': 'libatomic1',
  'libstdc++.so.6': 'libstdc++6',
  'libgcc_s.so.1': 'libgcc-s1',
};

/**
 * Find the loader and every library that a binary loads, itself or through another library, as the host's loader would:
 * directories of ld.so.conf, then the default ones; files of another architecture are passed over.
 *
 * In the image all of them lie in the default directory that holds the C library, because the loader was built to look
 * there and an image has no loader cache.
 *
 * @param systemRoot where the host's files are looked for; `/` but in tests.
 * @throws GloveboxError `IMAGE_BUILD_FAILED`, naming every library that is missing and how to get it on Debian.
 */
export async function findLibraries(binary: string, systemRoot: string): Promise<SharedLibrary[]> {
  const main = await readElf(binary);
  if (main === undefined) throw failed(`${binary} is not a 64-bit ELF binary.`);
  if (main.interpreter === undefined) return [];

  const interpreter = {
    name: basename(main.interpreter),
    source: join(systemRoot, main.interpreter),
    imagePath: main.interpreter,
  };
  const defaults = defaultDirectories(main.machine);
  const search = [...(await configuredDirectories(systemRoot)), ...defaults];
  const home = await firstHolding('libc.so.6', defaults, main.machine, systemRoot);

  const found = new Map<string, SharedLibrary>();
  const missing: string[] = [];
  const loader = await elfOf(interpreter.source);
  if (loader?.machine !== main.machine) missing.push(interpreter.name);
  found.set(interpreter.name, interpreter);

  const waiting = [...main.needed];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (found.has(name) || missing.includes(name)) continue;
    if (name.includes('/'))
      throw failed(`${binary} loads ${name} by its path; only plain library names are supported.`);
    const dir = await firstHolding(name, search, main.machine, systemRoot);
    if (dir === undefined) {
      missing.push(name);
      continue;
    }
    const source = join(systemRoot, dir, name);
    found.set(name, { name, source, imagePath: join(home ?? dir, name) });
    waiting.push(...((await elfOf(source))?.needed ?? []));
  }
  if (missing.length > 0) throw missingLibraries(missing);
  return [...found.values()];
}

async function firstHolding(name: string, dirs: string[], machine: number, root: string): Promise<string | undefined> {
  for (const dir of dirs) {
    if ((await elfOf(join(root, dir, name)))?.machine === machine) return dir;
  }
  return undefined;
}

const elfOf = async (path: string): Promise<ElfFile | undefined> =>
  readElf(path).catch((error: unknown) => {
    if (GloveboxError.is(error)) throw error;
    return undefined;
  });

function defaultDirectories(machine: number): string[] {
  const triple = multiarch[machine];
  const debian = triple === undefined ? [] : [`/lib/${triple}`, `/usr/lib/${triple}`];
  return [...debian, '/lib64', '/usr/lib64', '/lib', '/usr/lib'];
}

/** The directories that ld.so.conf names, includes followed, in order. A file that cannot be read names none. */
async function configuredDirectories(root: string): Promise<string[]> {
  const seen = new Set<string>();
  const dirs: string[] = [];
  const read = async (file: string): Promise<void> => {
    const real = await realpath(file).catch(() => undefined);
    if (real === undefined || seen.has(real)) return;
    seen.add(real);
    for (const line of (await readFile(real, 'utf8').catch(() => '')).split('\n')) {
      const text = line.replace(/#.*/, '').trim();
      const [, pattern] = /^include\s+(\S+)$/.exec(text) ?? [];
      if (pattern !== undefined) {
        const absolute = pattern.startsWith('/') ? join(root, pattern) : resolve(dirname(file), pattern);
        for (const included of (await Array.fromAsync(glob(absolute))).sort()) await read(included);
      } else if (text.startsWith('/')) dirs.push(text);
    }
  };
  await read(join(root, 'etc/ld.so.conf'));
  return dirs;
}

function missingLibraries(names: string[]): GloveboxError {
  const packages = [...new Set(names.map((name) => debianPackages[name] ?? 'libc6'))].sort();
  return failed(
    `Node.js needs ${names.join(', ')}, which this host has not.`,
    `On Debian and Ubuntu: apt-get install ${packages.join(' ')}. Node.js needs the GNU C library; musl is not enough.`,
  );
}

const failed = (message: string, hint?: string): GloveboxError =>
  new GloveboxError('IMAGE_BUILD_FAILED', { message, ...(hint === undefined ? {} : { hint }) });
