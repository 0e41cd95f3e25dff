export { packageLimits } from '@glovebox/contract/build-limits';

export const requiredFiles = ['node.json', 'package.json', 'src/index.ts'] as const;

/** At the root, whatever they are: made by tools, never part of a revision, not even looked into. */
export const ignoredAtRoot: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.glovebox']);
