import type { Mutant } from './mutant.ts';

const format = (name: string): Mutant['test'] => ({
  file: 'packages/sdk/src/cassette-format.test.ts',
  name: `a cassette ${name}`,
});
const player = (name: string): Mutant['test'] => ({ file: 'packages/sdk/src/cassette-player.test.ts', name });
const session = (name: string): Mutant['test'] => ({
  file: 'packages/egress/src/cassette/cassette-egress.test.ts',
  name: `a session over a cassette ${name}`,
});
const recording = (name: string): Mutant['test'] => ({
  file: 'packages/egress/src/cassette/record-egress.test.ts',
  name: `a recording ${name}`,
});
const trial = (name: string): Mutant['test'] => ({ file: 'packages/engine/src/trial-http.test.ts', name });
const noSecret = recording('has no secret in it: no credential, no cookie, no token, in headers, URLs or locations');

/** What is recorded, what is believed of a recording, and what a fixture reaches. */
export const egressCassetteMutants: readonly Mutant[] = [
  {
    file: 'packages/egress/src/cassette/kept-headers.ts',
    find: '(name) => toldOfRequests.has(name) || secret.has(name));',
    replace: '() => true);',
    test: noSecret,
    why: 'a credential in a header of any name would lie in a repository',
  },
  {
    file: 'packages/egress/src/cassette/kept-headers.ts',
    find: '  if (secret.has(name)) return notRecorded;\n',
    replace: '',
    test: noSecret,
    why: 'credentials and cookies would lie in a repository',
  },
  {
    file: 'packages/sdk/src/cassette-match.ts',
    find: '  url.search = withoutSecrets(url.search.slice(1));\n',
    replace: '',
    test: noSecret,
    why: 'a key in a query would lie in a repository',
  },
  {
    file: 'packages/egress/src/cassette/kept-headers.ts',
    find: "if (name === 'link') return",
    replace: 'if (false) return',
    test: noSecret,
    why: 'a list would carry the secret of its query in the link to its next page',
  },
  {
    file: 'packages/egress/src/cassette/recording.ts',
    find: 'this.#bytes -= held.length;',
    replace: '',
    test: recording(
      'has room for what it keeps, whatever it does not keep: long bodies of requests, what was denied, and answers that broke off',
    ),
    why: 'a run that keeps little would be refused for what it does not keep',
  },
  {
    file: 'packages/egress/src/cassette/record-egress.ts',
    find: 'if (url.length > cassetteLimits.url) {',
    replace: 'if (false) {',
    test: recording('of a URL that is longer than a cassette has them is none, and of one that is not is one'),
    why: 'a recording would be one that nothing can read, which is told as a defect of ours',
  },
  {
    file: 'packages/egress/src/cassette/kept-headers.ts',
    find: "  return name === 'location' || name === 'content-location' ? keptLocation(value) : value;",
    replace: '  return value;',
    test: noSecret,
    why: 'the signature of a redirect would lie in a repository',
  },
  {
    file: 'packages/egress/src/cassette/recording.ts',
    find: "    if (this.#bytes > cassetteFileLimits.maxBytes) this.fail('too-large');\n",
    replace: '',
    test: recording('over the size of a cassette is none, and one below it is'),
    why: 'what an origin sends would be held until memory is full',
  },
  {
    file: 'packages/egress/src/cassette/record-egress.ts',
    find: '    if (!isOurs(head.headers)) {',
    replace: '    {',
    test: recording('has neither denials nor failures in it, which come about by themselves'),
    why: 'a denial would be played as an answer of the origin',
  },
  {
    file: 'packages/sdk/src/cassette-format.ts',
    find: '|upgrade|glovebox-.*)$/;',
    replace: '|upgrade)$/;',
    test: format('is none that speaks in our name, which is told where it is'),
    why: 'a cassette could speak for the broker',
  },
  {
    file: 'packages/sdk/src/cassette-format.ts',
    find: "!headerName.test(name) || name === '__proto__')",
    replace: '!headerName.test(name))',
    test: format('is none with a header called __proto__, which is told where it is'),
    why: 'whoever copies headers could be given a prototype',
  },
  {
    file: 'packages/sdk/src/cassette-format.ts',
    find: '    if (entries.length > cassetteLimits.entries)',
    replace: '    if (entries.length > 1e9)',
    test: format('is none with more entries than there may be, before any of them is looked at'),
    why: 'a file of an author could keep the host busy',
  },
  {
    file: 'packages/sdk/src/cassette-player.ts',
    find: "?? ''}`;",
    replace: "|| method ? '' : ''}`;",
    test: player('a cassette that is played answers what is the same request, and only that'),
    why: 'a fixture would pass although the node now sends something else',
  },
  {
    file: 'packages/sdk/src/cassette-player.ts',
    find: 'this.#searches++ < maxSearches',
    replace: 'this.#searches++ < 1e9',
    test: player(
      'a cassette that is played searches for the nearest of the first twenty misses alone, and keeps a hundred',
    ),
    why: 'a node could keep the host busy with requests that are nowhere',
  },
  {
    file: 'packages/egress/src/cassette/cassette-dialer.ts',
    find: "details: { reason: 'CASSETTE_MISS', ...miss }",
    replace: 'details: { ...miss }',
    test: session('tells a miss with the nearest request, as a failure of its own code that no library tries again'),
    why: 'a miss would be told as a failure of the origin, which is tried again',
  },
  {
    file: 'packages/egress/src/cassette/cassette-egress.ts',
    find: 'egress: { ...createEgress(dialer), source:',
    replace:
      'egress: { open: (options) => createEgress(dialer).open({ ...options, policy: { ...options.policy, denials: [] } }), source:',
    test: session('denies what an admin has denied'),
    why: 'a recording would be judged by other rules than the network',
  },
  {
    file: 'packages/engine/src/trial-http.ts',
    find: '      egress,\n      // The log tells',
    replace: '      // The log tells',
    test: trial('a trial that plays a cassette without one misses every request, and reaches nothing'),
    why: 'a fixture would reach the network',
  },
  {
    file: 'packages/engine/src/trial-http.ts',
    find: '      egressLog: { append: async () => undefined, list: async () => [] },\n',
    replace: '',
    test: trial(
      'a trial that plays a cassette is answered from it alone, under no policy but that of the package, and is not in the log of what left',
    ),
    why: 'the log would tell of requests that nobody made',
  },
  {
    file: 'packages/engine/src/trial-http.ts',
    find: "        if (state !== 'SUCCEEDED')",
    replace: "        if (state === 'QUEUED')",
    test: trial('a trial that is recorded gives none where it ended as FAILED'),
    why: 'half of a recording would be taken for one',
  },
  {
    file: 'packages/engine/src/validate/fixture-files.ts',
    find: '(?<!\\.cassette)',
    replace: '',
    test: {
      file: 'packages/engine/src/validate/fixture-cassettes.test.ts',
      name: 'the cassette of a fixture is read from beside it, once for all fixtures that name it, and is no fixture itself',
    },
    why: 'a cassette would be taken for a fixture that is broken',
  },
];
