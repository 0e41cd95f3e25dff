import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What a judge's child runs: a module, and the directory that it and its imports are in. */
export interface JudgeProgram {
  entry: string;
  directory: string;
}

/** What a source imports of its own package when it runs; types are gone by then. */
const imports = /^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';|\bimport\('(\.[^']+)'\)/gm;

/**
 * The child's program, in a form that starts quickly.
 *
 * Sources are TypeScript, and to strip their types takes a process six times as long as to start without. The child
 * cannot use Node.js's own compile cache: under `--permission` that needs write access, and what has touched hostile
 * bytes must not write what later processes run. So in a clone the stripped sources are kept beside that cache, under
 * the hash of the sources and of Node.js's version, written by this side only. Where they cannot be kept the sources
 * run as they are; where the package was compiled, so does what it was compiled to.
 */
export async function judgeProgram(cacheRoot: string = defaultCacheRoot): Promise<JudgeProgram> {
  const directory = dirname(import.meta.dirname);
  if (!import.meta.filename.endsWith('.ts')) return { entry: join(directory, 'judge/child.js'), directory };
  const asItIs = { entry: join(directory, 'judge/child.ts'), directory };
  try {
    // Another user's clone: files of ours would be in its way.
    if (statSync(nearestThatExists(cacheRoot)).uid !== process.getuid?.()) return asItIs;
    const kept = join(cacheRoot, hashOf(readSources(directory)));
    if (!existsSync(kept))
      await promisify(execFile)(process.execPath, [...stripArguments, kept], { env: {}, timeout: 60_000 });
    return { entry: join(kept, 'judge/child.js'), directory: kept };
  } catch {
    return asItIs;
  }
}

const defaultCacheRoot = join(import.meta.dirname, '../../../../node_modules/.cache/glovebox-judge');
const stripArguments = ['--disable-warning=ExperimentalWarning', fileURLToPath(new URL('./strip.ts', import.meta.url))];

function nearestThatExists(path: string): string {
  return existsSync(path) ? path : nearestThatExists(dirname(path));
}

/** Path, relative to the package's sources, to text: of the child and of all that it imports. */
export function readSources(directory: string): Map<string, string> {
  const sources = new Map<string, string>();
  const open = [join(directory, 'judge/child.ts')];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const path = relative(directory, file);
    if (sources.has(path)) continue;
    const text = readFileSync(file, 'utf8');
    sources.set(path, text);
    for (const [, from, dynamic] of text.matchAll(imports)) open.push(join(dirname(file), from ?? dynamic ?? ''));
  }
  return sources;
}

function hashOf(sources: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256').update(process.version);
  for (const path of [...sources.keys()].sort()) {
    const text = sources.get(path) ?? '';
    hash.update(`\n${path} ${text.length}\n${text}`);
  }
  return hash.digest('hex').slice(0, 32);
}
