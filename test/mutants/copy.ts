import { execFileSync } from 'node:child_process';
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface RepositoryCopy {
  root: string;
  remove(): void;
}

/**
 * A copy of the repository as it stands, committed or not, in which mutants can live. Its packages import one another; what
 * was installed is shared.
 */
export function copyRepository(repository: string): RepositoryCopy {
  const root = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const file of listFiles(repository)) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    cpSync(join(repository, file), join(root, file), { verbatimSymlinks: true });
  }
  const installed = join(repository, 'node_modules');
  mkdirSync(join(root, 'node_modules/@glovebox'), { recursive: true });
  for (const name of readdirSync(installed)) {
    // Hidden ones are caches: a mutant must not leave anything in them.
    if (name !== '@glovebox' && !name.startsWith('.'))
      symlinkSync(join(installed, name), join(root, 'node_modules', name));
  }
  for (const folder of ['packages', 'adapters', 'apps']) {
    for (const name of readdirSync(join(root, folder))) linkWorkspace(root, join(folder, name));
  }
  return { root, remove: () => rmSync(root, { recursive: true }) };
}

/** What is committed or would be added, and is there. */
function listFiles(repository: string): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return [...new Set(listed.split('\0'))].filter(
    (file) => file !== '' && lstatSync(join(repository, file), { throwIfNoEntry: false })?.isDirectory() === false,
  );
}

function linkWorkspace(root: string, folder: string): void {
  const manifest = join(root, folder, 'package.json');
  if (lstatSync(manifest, { throwIfNoEntry: false }) === undefined) return;
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name: string };
  const link = join(root, 'node_modules', name);
  // One that is published has a name without our scope, which installing has linked.
  rmSync(link, { force: true });
  symlinkSync(join(root, folder), link);
}
