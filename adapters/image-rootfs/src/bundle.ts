import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { GloveboxError } from '@glovebox/contract';
import { programError } from './build-errors.ts';

export interface BundleRequest {
  /** Becomes the name in errors, and of the file. */
  name: string;
  entry: string;
  format: 'cjs' | 'esm';
}

export interface Bundle {
  bytes: Uint8Array;
  /** Absolute paths of every source that went into it. */
  inputs: string[];
}

const deadlineMs = 60_000;

/** The part of esbuild's metafile that is read here. */
interface Metafile {
  inputs: Record<string, unknown>;
  outputs: Record<string, { imports: { path: string; external?: boolean }[] }>;
}

/**
 * Bundle one of our own sources into one file; never anything of an author.
 *
 * The same sources give the same bytes wherever they lie: paths are left out, tsconfig files and the environment are
 * not read. What may get in is checked on the result: only our packages, and at run time only built-in modules.
 *
 * @param root the sources' common directory.
 * @throws GloveboxError `IMAGE_BUILD_FAILED` with esbuild's first error, `DISK_FULL`.
 */
export async function bundle(esbuild: string, request: BundleRequest, root: string, staging: string): Promise<Bundle> {
  const outDir = join(staging, `bundle-${request.name}`);
  await mkdir(outDir);
  const outFile = join(outDir, 'bundle.js');
  const metaFile = join(outDir, 'meta.json');
  await run(
    esbuild,
    [
      request.entry,
      '--bundle',
      '--platform=node',
      '--target=node26',
      `--format=${request.format}`,
      `--outfile=${outFile}`,
      `--metafile=${metaFile}`,
      '--minify-whitespace',
      // Parsed at the start of every cell: without its names it starts 2 ms sooner.
      ...(request.name === 'harness' ? ['--minify-syntax', '--minify-identifiers'] : []),
      '--legal-comments=none',
      `--charset=${request.name === 'harness' ? 'ascii' : 'utf8'}`,
      '--tsconfig-raw={"compilerOptions":{"verbatimModuleSyntax":true}}',
      '--color=false',
      '--log-level=error',
    ],
    root,
    request.name,
    staging,
  );
  const bytes = await readFile(outFile);
  const meta = JSON.parse(await readFile(metaFile, 'utf8')) as Metafile;
  const inputs = Object.keys(meta.inputs).map((path) => resolve(root, path));
  checkContents(request.name, meta, inputs, root);
  const leaked = inputs.find((path) => bytes.includes(path));
  if (leaked !== undefined)
    throw failed(request.name, `it holds the path ${leaked}, so that it would differ elsewhere.`);
  return { bytes, inputs };
}

function checkContents(name: string, meta: Metafile, inputs: string[], root: string): void {
  const foreign = inputs.find((path) => relative(root, path).startsWith('..'));
  if (foreign !== undefined) throw failed(name, `it takes in ${foreign}, which is not a source of Glovebox.`);
  for (const { path, external } of Object.values(meta.outputs).flatMap(({ imports }) => imports)) {
    if (external === true && !isBuiltin(path)) throw failed(name, `it imports ${path}, which is not in a cell.`);
  }
}

async function run(esbuild: string, args: string[], cwd: string, name: string, staging: string): Promise<void> {
  try {
    await promisify(execFile)(esbuild, args, { cwd, env: {}, timeout: deadlineMs, killSignal: 'SIGKILL' });
  } catch (error) {
    throw await programError(error, staging, (reason) => failed(name, reason));
  }
}

const failed = (name: string, reason: string): GloveboxError =>
  new GloveboxError('IMAGE_BUILD_FAILED', { message: `The bundle ${name} could not be made: ${reason}` });
