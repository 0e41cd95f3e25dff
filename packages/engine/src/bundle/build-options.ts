import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { cellPaths } from '@glovebox/cell';
import { sdkName } from '../builder-cell/build-inputs.ts';
import type { BuildRequest } from './esbuild-service.ts';
import { esbuildVersion } from './esbuild-service.ts';

/** Where things are in the builder cell. Another layout is for tests that have no cell. */
export interface BuilderLayout {
  /** The directory that the builder writes author files and packages to. */
  tree: string;
  sdk: string;
}

export const cellLayout: BuilderLayout = { tree: cellPaths.tree, sdk: cellPaths.sdk };

export const bundleEntry = 'src/index.ts';
export const bundleFile = 'bundle.mjs';

/**
 * CommonJS inside an ES module needs a `require`: for built-ins, and for optional packages that are not there, which then
 * fail as their callers expect. esbuild renames what would clash with it.
 */
const banner =
  "import { createRequire as __gloveboxCreateRequire } from 'node:module'; const require = __gloveboxCreateRequire(import.meta.url);";

/** In place of every tsconfig.json, the author's and those of packages: they could redirect imports and change meaning. */
const tsconfig = {
  compilerOptions: { target: 'ESNext', useDefineForClassFields: true, experimentalDecorators: false },
};

/**
 * How every bundle is made. Nothing of the author's changes it, and nothing of the host's is in it, so that the same
 * source gives the same bytes everywhere: paths in the output are relative to the tree.
 *
 * Names are kept and nothing is minified: stacks and error names stay what the author wrote. Packages are resolved by the
 * conditions that Node.js itself has, so that what runs in a cell is what the author's own tests ran.
 */
export function buildRequest(layout: BuilderLayout): BuildRequest {
  return {
    entry: bundleEntry,
    workingDirectory: layout.tree,
    flags: [
      '--bundle',
      '--format=esm',
      '--platform=node',
      '--target=node26',
      '--charset=utf8',
      '--keep-names',
      '--legal-comments=none',
      '--tree-shaking=true',
      '--metafile',
      '--sourcemap=external',
      '--sources-content=true',
      `--outfile=${layout.tree}/${bundleFile}`,
      '--main-fields=main,module',
      '--conditions=',
      '--resolve-extensions=.ts,.js,.json',
      `--alias:${sdkName}=${layout.sdk}`,
      // Packages that ask where they are get an answer, and find nothing there.
      '--define:__dirname=import.meta.dirname',
      '--define:__filename=import.meta.filename',
      `--banner:js=${banner}`,
      `--tsconfig-raw=${JSON.stringify(tsconfig)}`,
      '--log-level=silent',
      '--log-limit=20',
      '--color=false',
    ],
  };
}

/** The SDK's directory as it is spelled in the bundler's answers: relative to the tree. */
export function sdkPath(layout: BuilderLayout): string {
  return posix.relative(layout.tree, layout.sdk);
}

/** Changes whenever bundles come out otherwise: part of what a cached bundle is kept under. */
export function buildOptionsDigest(layout: BuilderLayout): string {
  return createHash('sha256')
    .update(JSON.stringify([esbuildVersion, buildRequest(layout)]))
    .digest('hex');
}
