import { mayBeTypeChecked } from './builder/kept-files.ts';
import { becomeTool } from './builder/tool-cell.ts';

/**
 * The first process of a types cell: it unpacks, and becomes the TypeScript compiler, which writes what it finds to fd 1
 * and ends. The settings are a file of the image; no configuration of the package is looked for.
 */

becomeTool({
  program: '/toolchain/typescript/tsc',
  argv: ['tsc', '--project', '/toolchain/tsconfig.json', '--pretty', 'false'],
  tree: '/tmp/src-tree',
  keeps: mayBeTypeChecked,
}).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
