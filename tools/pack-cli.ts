import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');

/** With the flag that all our processes start with. */
const shebang = '#!/usr/bin/env -S node --disallow-code-generation-from-strings';

/** Of CommonJS in what is packed: it asks for built-in modules by `require`. */
const banner =
  "import { createRequire as __gloveboxCreateRequire } from 'node:module'; const require = __gloveboxCreateRequire(import.meta.url);";

/**
 * Pack the command line into a directory: `bin/glovebox.mjs`, the parts that it loads when they are needed, and
 * `package.json`. It needs Node.js and nothing else. The same sources give the same bytes, wherever they and the directory lie.
 *
 * What needs no part of Glovebox beside it works from there: `verify` with --key, `explain`, `help`. Images are made of
 * sources, and records are opened by a thread with a file of its own: neither is packed.
 *
 * @returns the program's path.
 */
export async function packCli(directory: string): Promise<string> {
  const manifest = JSON.parse(readFileSync(join(root, 'apps/cli/package.json'), 'utf8')) as { [name: string]: unknown };
  await build({
    absWorkingDir: root,
    entryPoints: { glovebox: 'apps/cli/src/main.ts' },
    outdir: relative(root, join(directory, 'bin')),
    outExtension: { '.js': '.mjs' },
    chunkNames: 'parts/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24.15',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'eof',
    banner: { js: banner },
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    logLevel: 'error',
  });
  const { name, version, description, license } = manifest;
  const packed = {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { glovebox: './bin/glovebox.mjs' },
    engines: { node: '>=24.15' },
  };
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(packed, undefined, 2)}\n`);
  const program = join(directory, 'bin/glovebox.mjs');
  writeFileSync(program, `${shebang}\n${readFileSync(program, 'utf8')}`);
  chmodSync(program, 0o755);
  return program;
}

if (process.argv[1] === import.meta.filename) {
  const [directory, ...others] = process.argv.slice(2);
  if (directory === undefined || others.length > 0) {
    process.stderr.write('usage: node tools/pack-cli.ts <directory>\n');
    process.exitCode = 2;
  } else process.stdout.write(`${await packCli(resolve(directory))}\n`);
}
