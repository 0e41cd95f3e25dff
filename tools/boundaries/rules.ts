/**
 * Who may import whom, and why. Arrows point at the contract: apps → adapters → packages → contract.
 *
 * A package that is not in the table may import nothing: a new one states its arrows here first.
 */
export const packageArrows: { [name: string]: readonly string[] } = {
  contract: [],
  channel: [],
  sdk: [],
  cell: ['contract'],
  validate: ['contract'],
  artifact: ['contract'],
  client: ['contract'],
  egress: ['contract'],
  guest: ['channel', 'sdk'],
  engine: ['contract', 'channel', 'cell', 'validate', 'artifact', 'egress'],
};

/** Apps that another app has inside: without a server, the CLI speaks to the same API in its own process. */
export const appArrows: { [name: string]: readonly string[] } = {
  cli: ['server'],
};

/** Arrows that hold for types alone: nothing of them is there at run time. */
export const typeArrows: { [name: string]: readonly string[] } = {
  guest: ['contract'],
};

/** Exports that a package may import as values although it may not import the rest: constants and pure functions, nothing behind them. */
export const valueArrows: { [name: string]: readonly string[] } = {
  // Format and matching of cassettes: a fixture is answered as authors' tests are, and the SDK, which is copied into packages, imports nothing.
  egress: ['@glovebox/sdk/cassette'],
  guest: ['@glovebox/contract/build-limits', '@glovebox/contract/package-name'],
};

/** Packages that run inside cells. Code of the host does not import them: it would run an author's tools with its own rights. */
export const insideCells: readonly string[] = ['guest', 'sdk'];
/** The adapter that puts them into an image. */
export const mayPackInsideCells: readonly string[] = ['image-rootfs'];

export const arrowReasons = {
  package:
    'packages know nothing of one another but for the arrows in tools/boundaries/rules.ts: engine composes them over ports',
  adapter:
    'an adapter implements one port with one technology: it knows the contract and packages, no other adapter and no app',
  insideCells: 'guest and sdk run inside cells and are packed by image-rootfs alone',
  upwards: 'arrows point at the contract: what is below never imports what is above',
  depth: "a package is what its exports map says; another package's files are its own",
  undeclared: 'package.json names what a package imports, or it breaks when it is installed by itself',
  unused: 'a dependency that nothing imports is an arrow that nobody draws',
  computed: 'an import whose name is computed cannot be judged',
} as const;

export interface BuiltinRule {
  /** With what is below them: `undici` is `undici/lib/api` as well. */
  modules: readonly string[];
  reason: string;
  /** Beginnings of paths, relative to the root. Tests, tools and benchmarks may anyway. */
  allowed: readonly string[];
}

export const builtinRules: readonly BuiltinRule[] = [
  {
    modules: [
      'node:net',
      'node:tls',
      'node:http',
      'node:https',
      'node:http2',
      'node:dgram',
      'node:dns',
      'node:quic',
      // By which node:http and node:tls are made.
      'node:_http_agent',
      'node:_http_client',
      'node:_http_server',
      'node:_tls_common',
      'node:_tls_wrap',
      'undici',
    ],
    reason: 'whatever opens a connection is kept in one place, so that one policy can judge all of them',
    // interrupts: adopts the descriptor that the launcher left it; nothing is connected. celld: local sockets alone.
    // cell-docker: the one engine that it is given, by a client of its own.
    allowed: [
      'packages/egress/',
      'packages/guest/',
      'adapters/cell-docker/',
      // Put a recording in the place of fetch, in authors' tests, and leave to it what needs no connection.
      'packages/sdk/src/cassette-global.ts',
      'packages/sdk/src/cassette-fetch.ts',
      'apps/cli/src/interrupts.ts',
      'apps/celld/',
      'adapters/cell-celld/',
    ],
  },
  {
    modules: ['npm-registry-fetch', 'make-fetch-happen', 'minipass-fetch', '@npmcli/agent', 'pacote', 'ws'],
    reason: 'a library with an HTTP client of its own connects by itself unless it is given an agent of the dialer',
    allowed: ['adapters/registry-npm/src/registry-client.ts'],
  },
  {
    modules: ['node:child_process', 'node:cluster'],
    reason: 'processes are started where their environment, deadline and kill are taken care of',
    // cell-oci: the runtime. judge: the killable child. bundle.ts, code-cache.ts: esbuild and V8 over our own sources. bin: the pinned Node.js.
    allowed: [
      'adapters/cell-oci/',
      'packages/validate/src/judge',
      'adapters/image-rootfs/src/bundle.ts',
      'adapters/image-rootfs/src/code-cache.ts',
      'apps/cli/bin/',
    ],
  },
  {
    modules: ['node:sqlite'],
    reason: 'a database call blocks its thread: it belongs in the worker of the store',
    allowed: ['adapters/store-sqlite/'],
  },
  {
    modules: ['node:vm', 'node:inspector', 'node:ffi'],
    reason: 'author bytes are never evaluated on the host',
    allowed: ['packages/guest/'],
  },
];

export const environmentRule = {
  reason: 'configuration is read once at the start and passed on; deeper, a variable is a hidden argument',
  // registry-npm: npm keeps its configuration in variables. guest: the environment of a cell is fixed and says nothing.
  // interrupts: the launcher tells by a variable where that descriptor is.
  allowed: [
    'apps/cli/src/config',
    'apps/cli/src/interrupts.ts',
    'apps/cli/bin/',
    'adapters/registry-npm/src/package-source.ts',
    'packages/guest/',
  ],
} as const;

/** Computed imports that are the very task of a file: the bundle in a cell, the pattern engine in the sealed child. */
export const computedImports: readonly string[] = ['packages/guest/src/', 'packages/validate/src/judge/child.ts'];

/** Directories with code of other people, or code that is there to be wrong. */
export const skipped: readonly string[] = ['node_modules', 'fixtures', 'mutants', 'dist', 'coverage'];
