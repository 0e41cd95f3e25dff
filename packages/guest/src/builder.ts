import { parseArgs } from 'node:util';
import { mayBeBundled } from './builder/kept-files.ts';
import { becomeTool } from './builder/tool-cell.ts';

/** The first process of a bundle cell: it unpacks, and becomes esbuild, which the host drives over fds 0 and 1. */

/** In a cell there is no argument but the one that says where the channel is; tests give others. */
const { values: layout } = parseArgs({
  allowPositionals: true,
  options: {
    tree: { type: 'string', default: '/tmp/src-tree' },
    esbuild: { type: 'string', default: '/toolchain/esbuild' },
  },
});

becomeTool({
  program: layout.esbuild,
  // esbuild refuses a service of another version than its own.
  argv: ['esbuild', '--service=0.28.2'],
  tree: layout.tree,
  keeps: mayBeBundled,
}).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
