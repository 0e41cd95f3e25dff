import { writeFileSync } from 'node:fs';
import { refuseAmbientModule } from './builder/ambient-modules.ts';
import { mayBeTypeChecked } from './builder/kept-files.ts';
import { becomeTool } from './builder/tool-cell.ts';
import { typeCheckConfigOf } from './builder/type-check-config.ts';

/**
 * The first process of a types cell: it unpacks, and becomes the TypeScript compiler, which writes what it finds to fd 1
 * and ends. The settings are a file of the image, to which a list of the author's files is added; no configuration of the
 * package is looked for.
 */

const tree = '/tmp/src-tree';
const config = '/tmp/tsconfig.json';
const declarations = ['node_modules/@types/node/index.d.ts', 'types/index.d.ts', 'types/testing.d.ts'];

/**
 * A file with one error that only the check of types finds. The compiler leaves that check out where any file cannot be
 * parsed, a package's declarations among them, and says nothing of it: so the host takes for a pass only what tells of this.
 */
const reached = { path: '/tmp/reached.mts', text: 'export const reached: string = 0;\n' };

becomeTool({
  program: '/toolchain/typescript/tsc',
  argv: ['tsc', '--project', config, '--pretty', 'false'],
  tree,
  keeps: mayBeTypeChecked,
  refuses: refuseAmbientModule,
  prepare: (authorPaths) => {
    writeFileSync(reached.path, reached.text, { flag: 'wx' });
    const first = [...declarations.map((path) => `/toolchain/${path}`), reached.path];
    const base = '/toolchain/tsconfig.json';
    writeFileSync(config, typeCheckConfigOf(authorPaths, { tree, base, first }), { flag: 'wx' });
  },
}).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
