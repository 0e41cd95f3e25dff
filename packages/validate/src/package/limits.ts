/** Bounds of a node package on disk. Bytes of content and of UTF-8 names. */
export const packageLimits = {
  files: 256,
  fileBytes: 2 * 1024 * 1024,
  totalBytes: 32 * 1024 * 1024,
  nameBytes: 255,
  pathBytes: 1024,
  /** Directories above a file, the package's own not counted. */
  depth: 16,
  /** Names looked at before the walk gives up: a directory may hold millions. */
  entries: 4096,
} as const;

export const requiredFiles = ['node.json', 'package.json', 'src/index.ts'] as const;

/** At the root, whatever they are: made by tools, never part of a revision, not even looked into. */
export const ignoredAtRoot: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.glovebox']);
