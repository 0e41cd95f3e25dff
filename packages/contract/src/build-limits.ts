/**
 * The control plane of a builder cell: the two requests to `control.invalid` that it makes over the channel before it
 * replaces itself by the bundler or the type checker, or runs the tests. What comes back is checked here: the builder has
 * read hostile archives.
 *
 * The answer to `inputs` is a sequence of records: the length of a JSON header (4 bytes, little endian), the header (a
 * BuildInput), and, but for `end`, as many bytes of content as its `sizeBytes` says. `end` is the last one.
 */
export const buildControlPaths = {
  /** GET; the records described above. */
  inputs: '/inputs',
  /** POST, exactly one; the body is an UnpackReport. 204: go on. 409: there is nothing more to do. */
  unpacked: '/unpacked',
} as const;

/** What a tests cell asks for after that, since it keeps the channel. */
export const testControlPaths = {
  /** GET, once; the answer is a TestJob. */
  job: '/test-job',
  /** POST, exactly one; the body is a TestResult. Nothing comes after it. */
  result: '/test-result',
} as const;

/** What a tests cell may tell. Lengths are of texts, in UTF-16 code units. */
export const testLimits = {
  resultBytes: 4 * 1024 * 1024,
  tests: 10_000,
  nameLength: 500,
  messageLength: 4000,
  diagnostics: 10,
  /** Files of the package after the tests: those that it has, and those that were added. */
  files: 4096,
} as const;

/** Limits of a build. Bytes of content; the cell's plan has those of the process. */
export const buildLimits = {
  /** JSON header of one input record. */
  headerBytes: 8 * 1024,
  authorFiles: 1024,
  authorBytes: 64 * 1024 * 1024,
  packages: 2000,
  /** One dependency's archive, as downloaded. */
  archiveBytes: 32 * 1024 * 1024,
  /** All of them. The host holds these in memory. */
  archivesBytes: 128 * 1024 * 1024,
  /** One archive, inflated. */
  unpackedBytes: 64 * 1024 * 1024,
  /** An archive may always inflate to the floor, and to this many times its own size. */
  inflateRatio: 200,
  inflateFloorBytes: 8 * 1024 * 1024,
  /** Entries of one archive. */
  entries: 20_000,
  /** All archives together: the scratch directory of the cell holds them. */
  totalUnpackedBytes: 320 * 1024 * 1024,
  totalEntries: 100_000,
  /** A path in an archive or in the author's package, in bytes of UTF-8. */
  pathBytes: 1024,
  nameBytes: 255,
  pathDepth: 32,
  /** package.json of a dependency. */
  packageJsonBytes: 1024 * 1024,
  reportBytes: 4 * 1024 * 1024,
  findings: 100,
  webAssemblyFiles: 500,
  settingsFiles: 100,
  bundleBytes: 16 * 1024 * 1024,
  sourceMapBytes: 64 * 1024 * 1024,
  metafileBytes: 8 * 1024 * 1024,
} as const;

/** Bounds of a node package. Bytes of content and of UTF-8 names. */
export const packageLimits = {
  files: 256,
  fileBytes: 2 * 1024 * 1024,
  totalBytes: 32 * 1024 * 1024,
  nameBytes: 255,
  pathBytes: 1024,
  /** Directories above a file, the package's own not counted. */
  depth: 16,
  /** Names looked at before the walk of a directory gives up: it may hold millions. */
  entries: 4096,
} as const;

/** Files that would tell package managers where to fetch from, and what to run. */
export const managerSettings: readonly string[] = [
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  'pnpm-workspace.yaml',
  'bunfig.toml',
];

export type BuildInput =
  | { kind: 'file'; path: string; sizeBytes: number }
  | {
      kind: 'package';
      /** Where it goes, such as `node_modules/a/node_modules/b`. */
      path: string;
      name: string;
      version: string;
      /** `development`: nothing of it gets into a bundle. Where a cell cannot have it, it is left out, which is no finding. */
      use: 'node' | 'development';
      sizeBytes: number;
    }
  | { kind: 'end' };
