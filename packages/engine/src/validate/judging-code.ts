import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const own = fileURLToPath(new URL('../..', import.meta.url));
const scope = '@glovebox/';

let known: string | undefined;

/**
 * A digest of what judges on this side of a cell: the sources of this package and of all of ours that it works with, however
 * indirectly, what they depend on by exact versions, and the Node.js that runs them. Computed once in a process: some milliseconds.
 */
export function judgingCode(): string {
  known ??= codeOf(own);
  return known;
}

/** As judgingCode, of a package anywhere. Where its sources are not to be had, no other process has the same. */
export function codeOf(dir: string): string {
  try {
    return digestOfPackages([dir, ...neighbours(dir)], process.version);
  } catch {
    // Packed into one program: then verdicts are remembered for as long as this runs, and none of others is believed.
    return randomBytes(32).toString('hex');
  }
}

/** Sha256 in hex, of the package.json and the sources of packages; tests judge nothing. */
export function digestOfPackages(dirs: readonly string[], salt: string): string {
  const hash = createHash('sha256').update(JSON.stringify(salt));
  for (const dir of dirs) {
    const all = readdirSync(join(dir, 'src'), { recursive: true, encoding: 'utf8' });
    const sources = all.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts')).sort();
    for (const path of ['package.json', ...sources.map((source) => join('src', source))]) {
      const bytes = readFileSync(join(dir, path));
      hash.update(JSON.stringify([path, bytes.byteLength])).update(bytes);
    }
  }
  return hash.digest('hex');
}

/** Where the packages of ours lie that a package works with, and those that these work with. */
function neighbours(dir: string): string[] {
  const found = new Set<string>();
  const visit = (from: string): void => {
    for (const next of dependenciesOf(from).filter((each) => !found.has(each))) {
      found.add(next);
      visit(next);
    }
  };
  visit(dir);
  return [...found].sort();
}

function dependenciesOf(dir: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as {
    dependencies?: { [name: string]: string };
  };
  const { resolve } = createRequire(join(dir, 'package.json'));
  const ours = Object.keys(dependencies ?? {}).filter((name) => name.startsWith(scope));
  return ours.sort().map((name) => dirname(dirname(resolve(name))));
}
