import type { Mutant } from './mutant.ts';

const lockfile = (name: string): Mutant['test'] => ({ file: 'packages/validate/src/lockfile/lockfile.test.ts', name });
const snapshot = (name: string): Mutant['test'] => ({ file: 'packages/validate/src/package/snapshot.test.ts', name });
const tree = (name: string): Mutant['test'] => ({ file: 'packages/validate/src/package/tree.test.ts', name });
const judge = (name: string): Mutant['test'] => ({ file: 'packages/validate/src/judge/judge.test.ts', name });
const json = (name: string): Mutant['test'] => ({ file: 'packages/contract/src/json.test.ts', name });

/** What is taken in of somebody's package and values. */
export const packageMutants: readonly Mutant[] = [
  {
    file: 'packages/validate/src/lockfile/entry.ts',
    find: 'strong.length === 1 && bytes.length === 64 && ',
    replace: 'strong.length === 1 && ',
    test: lockfile('integrity refuses "sha512-AAAA" and names the entry'),
    why: 'a hash that is cut short is one that other bytes can be found for',
  },
  {
    file: 'packages/validate/src/lockfile/entry.ts',
    find: "bytes.toString('base64') === encoded ? hash : '';",
    replace: "encoded.length > 0 ? hash : '';",
    test: lockfile(
      'integrity refuses "sha512-5ZdIUeaOuc/RN8pQtvaDY2cQmloRb7TXFLy0Iqc8hNcWsV3FwZvOrNtg8jn+J2CjLfO421chqIFwUQ+C5gUpAw==?foo" and names the entry',
    ),
    why: 'readers of options and stray bits could take another hash than we do',
  },
  {
    file: 'packages/validate/src/lockfile/entry.ts',
    find: '(spelled) => url.href ===',
    replace: "(spelled) => url.href.split('#')[0] ===",
    test: lockfile('where a package would come from refuses resolved "https://registry.example/a/-/a-1.2.0.tgz#x"'),
    why: 'the archive that a lockfile names could be another one than we look up',
  },
  {
    file: 'packages/validate/src/lockfile/entry.ts',
    find: "typeof entry.name === 'string' && entry.name !== name",
    replace: "typeof entry.name === 'string' && entry.name === ''",
    test: lockfile('what an entry is is refused when it is an alias'),
    why: 'a package could stand under the name of another one',
  },
  {
    file: 'packages/validate/src/package/snapshot.ts',
    find: "name === '' || name === '.' || name === '..'",
    replace: "name === '' || name === '.'",
    test: snapshot('a path is refused as "../x"'),
    why: 'a file of a package could be written outside of where it belongs',
  },
  {
    file: 'packages/validate/src/package/snapshot.ts',
    find: '    const key = collisionKey(name);',
    replace: '    const key = name;',
    test: snapshot('two paths are refused where some file system takes them for one: "Dir/x" and "dir/y"'),
    why: 'what is checked on one file system would be something else on another',
  },
  {
    file: 'packages/validate/src/package/tree.ts',
    find: "  if (name === 'node_modules' || name === '.git') {\n    // A bundler",
    replace: "  if (name === '.git') {\n    // A bundler",
    test: tree('what tools make refuses node_modules and .git below the root'),
    why: 'a bundler would take a package from there before the one that is locked',
  },
  {
    file: 'packages/validate/src/package/tree.ts',
    find: '  if (stat.nlink > 1n && stat.uid !== walk.owner) {',
    replace: '  if (stat.nlink > 1n && stat.uid < 0n) {',
    test: tree('what is no plain file refuses a hard link to a file of another owner and allows one of the same'),
    why: 'a second name for somebody else’s file would show what its author may not read',
  },
  {
    file: 'packages/validate/src/judge/child-process.ts',
    find: '      call.deadlineMs,\n    );',
    replace: '      2 ** 30,\n    );',
    test: judge('a judge under attack is killed when it does not answer in time'),
    why: 'a schema that never comes to an end would hold everybody up',
  },
  {
    file: 'packages/validate/src/judge/child-process.ts',
    find: '      env: {},\n',
    replace: '',
    test: judge(
      'the child has no environment, no code generation, a memory limit, few files to read and no descriptors of its parent',
    ),
    why: 'what touches hostile bytes would know the secrets of our environment',
  },
  {
    file: 'packages/contract/src/json.ts',
    find: '  if (deepest > limits.maxDepth) return {',
    replace: '  if (deepest < 0) return {',
    test: json('limits refuses nesting before it parses'),
    why: 'a text that nests deep enough overflows the stack of whoever walks it',
  },
  {
    file: 'packages/contract/src/json.ts',
    find: '  if (Buffer.byteLength(text) > limits.maxBytes) {',
    replace: '  if (text.length > limits.maxBytes) {',
    test: json('limits counts bytes, not characters'),
    why: 'a value could be three times as long as it may be',
  },
];
