import type { CellPlan } from '@glovebox/contract';

/** Paths inside an image. The builder image is the runtime image and more. */
export const cellPaths = {
  node: '/usr/bin/node',
  /** Loads the script of the harness with its bytecode. */
  harness: '/glovebox/harness.cjs',
  harnessScript: '/glovebox/harness.js',
  harnessCode: '/glovebox/harness.code',
  probe: '/glovebox/probe.cjs',
  /** Moves the channel off the standard streams before anything else is loaded; see stdio-shim.ts. */
  stdio: '/glovebox/stdio',
  /** Makes single system calls and tells their results; see sysprobe.ts. */
  sysprobe: '/glovebox/sysprobe',
  builder: '/glovebox/builder.cjs',
  typeChecker: '/glovebox/type-checker.cjs',
  tester: '/glovebox/tester.cjs',
  toolchain: '/toolchain',
  esbuild: '/toolchain/esbuild',
  /** The SDK as a package directory that the bundler resolves `@glovebox/sdk` to. */
  sdk: '/toolchain/sdk',
  /** TypeScript's compiler, with the declarations of the language beside it. */
  tsc: '/toolchain/typescript/tsc',
  /** How types are checked, whatever the package says. */
  tsconfig: '/toolchain/tsconfig.json',
  /** Declarations of Node.js, and what they need, as packages. */
  typePackages: '/toolchain/node_modules',
  /** Declarations of the SDK: `index.d.ts` and `testing.d.ts`. */
  sdkTypes: '/toolchain/types',
  /** The SDK with its testing kit, as a package directory, for tests alone: nothing of it gets into a bundle. */
  testingSdk: '/toolchain/testing-sdk',
  /** The one writable place: a tmpfs, noexec, limited in bytes and inodes. */
  scratch: '/tmp',
  /** Where a builder cell puts the author's files and the packages. */
  tree: '/tmp/src-tree',
} as const;

/** The whole environment of a cell. */
export const cellEnvironment: Readonly<Record<string, string>> = {
  HOME: cellPaths.scratch,
  LANG: 'C.UTF-8',
  PATH: '/usr/bin',
  TMPDIR: cellPaths.scratch,
  TZ: 'UTC',
};

/** The container's own uid and gid. On the host they are mapped to a pair that no other live cell has. */
export const cellUid = 65532;

/** The file descriptor of the channel in a cell. */
export const channelFd = 3;

/**
 * How an engine gives a cell its channel.
 *
 * `socket`: one descriptor, both ways, at `channelFd`. `stdio`: an engine that passes nothing but the standard streams. Then
 * fd 0 is what the host says and fd 1 what the cell says. Where author code is to run, a program of ours first moves them to
 * `stdioChannel` and puts /dev/null and the error stream in their places. A builder cell uses them as they are until it
 * has told all, says `marker`, and leaves them to its tool as standard input and output.
 */
export type ChannelWiring = { kind: 'socket' } | { kind: 'stdio'; marker: string };
export const stdioChannel = { readFd: 3, writeFd: 4 } as const;

/** The last argument of a guest whose channel is on standard streams; `=` and the marker follow in a builder cell. */
export const stdioArgument = 'stdio';

/** What V8's heap may take of the cell's memory: the rest is for code, buffers, stacks and the scratch tmpfs. */
function heapMiB(plan: CellPlan): number {
  const { memoryBytes, scratchBytes } = plan.limits;
  return Math.max(24, Math.floor((memoryBytes - scratchBytes) / (1024 * 1024)) - 40);
}

/**
 * argv of the cell's first process. Node's permission model is hygiene here, not a wall: it refuses workers, child
 * processes, addons, network and files outside; the namespaces, cgroups and seccomp are the wall.
 *
 * Code from strings is refused by the harness, not by V8's flag: with the flag V8 rejects the code cache of Node's own
 * built-ins, and loading `node:net` takes 15 ms instead of 3, `node:crypto` 28 instead of 8.
 */
export function cellCommand(plan: CellPlan, wiring: ChannelWiring = { kind: 'socket' }): string[] {
  switch (plan.role) {
    case 'run':
      return moved(authorCommand(plan, ['/glovebox'], cellPaths.harness), wiring);
    case 'tests':
      return moved(authorCommand(plan, ['/glovebox', cellPaths.toolchain], cellPaths.tester), wiring);
    case 'bundle':
      return [...ownCommand(cellPaths.builder), ...marked(wiring)];
    case 'types':
      return [...ownCommand(cellPaths.typeChecker), ...marked(wiring)];
    case 'probe':
      return ownCommand(cellPaths.probe);
  }
}

const moved = (command: string[], wiring: ChannelWiring): string[] =>
  wiring.kind === 'socket' ? command : [cellPaths.stdio, ...command, stdioArgument];

const marked = (wiring: ChannelWiring): string[] =>
  wiring.kind === 'socket' ? [] : [`${stdioArgument}=${wiring.marker}`];

/** Where author code is loaded. */
function authorCommand(plan: CellPlan, readable: string[], script: string): string[] {
  return [
    cellPaths.node,
    '--permission',
    ...[...readable, cellPaths.scratch].map((path) => `--allow-fs-read=${path}/`),
    `--allow-fs-write=${cellPaths.scratch}/`,
    '--no-experimental-ffi',
    '--disable-sigusr1',
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=16',
    `--max-old-space-size=${heapMiB(plan)}`,
    script,
  ];
}

/** Where nothing but code of ours runs, and a tool that it becomes. */
function ownCommand(script: string): string[] {
  return [cellPaths.node, '--no-experimental-ffi', '--disallow-code-generation-from-strings', script];
}
