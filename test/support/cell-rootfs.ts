import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, linkSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assembleStdioShim, assembleSysprobe, cellPaths } from '@glovebox/cell';
import { buildSync } from 'esbuild';

/**
 * A root directory for cells as the image builder makes it, with a harness of the test's own, for tests of the driver that
 * must not depend on the builder. Big files are hard links where that is possible.
 *
 * @param harness CommonJS that a run cell executes.
 */
export function makeCellRootfs(path: string, harness: string): string {
  for (const dir of ['dev', 'etc', 'glovebox', 'lib64', 'proc', 'tmp', 'usr/bin'])
    mkdirSync(join(path, dir), { recursive: true });
  chmodSync(join(path, 'tmp'), 0o1777);
  placeNode(path, cellPaths.node);
  const probe = new URL('../../packages/guest/src/probe.ts', import.meta.url).pathname;
  buildSync({
    entryPoints: [probe],
    outfile: join(path, cellPaths.probe),
    bundle: true,
    platform: 'node',
    format: 'cjs',
  });
  writeFileSync(join(path, cellPaths.sysprobe), assembleSysprobe(), { mode: 0o755 });
  writeFileSync(join(path, cellPaths.stdio), assembleStdioShim(), { mode: 0o755 });
  setHarness(path, harness);
  return path;
}

export function setHarness(path: string, harness: string): void {
  writeFileSync(join(path, cellPaths.harness), harness);
}

/** Put this Node.js into a root directory, with the libraries that it loads. @returns their paths in it. */
export function placeNode(root: string, path: string): string[] {
  const node = realpathSync(process.execPath);
  const libraries = librariesOf(node);
  place(node, join(root, path));
  for (const library of libraries) place(realpathSync(library), join(root, library));
  return [path, ...libraries];
}

/** What the loader would map: absolute paths in the output of ldd. */
function librariesOf(program: string): string[] {
  const output = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...output.matchAll(/(\/\S+) \(0x/g)].flatMap((match) => match[1] ?? []);
}

function place(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
    chmodSync(to, readFileSync(from).length > 0 ? 0o755 : 0o644);
  }
}
