import type { Mutant } from './mutant.ts';

const corrupted = (name: string): Mutant['test'] => ({
  file: 'packages/channel/test/hostile-peer.test.ts',
  name: `corrupted ends the connection ${name}`,
});
const abuse = (name: string): Mutant['test'] => ({
  file: 'packages/channel/test/hostile-peer.test.ts',
  name: `abuse ends the connection ${name}`,
});
const control = (name: string): Mutant['test'] => ({
  file: 'packages/engine/src/attempt/control-plane.test.ts',
  name,
});

/** What a cell may send, and what the host takes in of it. */
export const channelMutants: readonly Mutant[] = [
  {
    file: 'packages/channel/src/frame.ts',
    find: '  if (length > limits.maxFrameBytes) return corrupted(',
    replace: '  if (length > limits.connectionWindowBytes) return corrupted(',
    test: corrupted('a frame above the greatest size'),
    why: 'a cell could make the host set memory aside for a frame of any size',
  },
  {
    file: 'packages/channel/src/frame.ts',
    find: "return length > 0 ? undefined : abuse('empty-data'",
    replace: "return length >= 0 ? undefined : abuse('empty-data'",
    test: abuse('by DATA without a payload'),
    why: 'frames that cost no credit could be sent for ever',
  },
  {
    file: 'packages/channel/src/credit.ts',
    find: 'if (stream.owedBytes + length > this.#streamWindow) {',
    replace: 'if (length > this.#streamWindow) {',
    test: abuse('of the stream window, one byte over it'),
    why: 'one stream could fill the host’s memory, frame by frame',
  },
  {
    file: 'packages/channel/src/credit.ts',
    find: 'if (this.#owedBytes + length > this.#connectionWindow) {',
    replace: 'if (length > this.#connectionWindow) {',
    test: abuse('of the connection window, one byte over it on a stream that has credit'),
    why: 'many streams could fill the host’s memory together',
  },
  {
    file: 'packages/channel/src/credit.ts',
    find: '    if (bytes > stream.uncreditedBytes) {',
    replace: '    if (bytes > this.#streamWindow) {',
    test: abuse('by CREDIT that gives more than was sent, or crumbs'),
    why: 'a cell could make the host send more than it set room aside for',
  },
  {
    file: 'packages/channel/src/connection.ts',
    find: 'if (this.#streams.count >= this.#limits.maxStreams) {',
    replace: 'if (this.#streams.count > this.#limits.maxStreams) {',
    test: abuse('by one stream more than may be open, also when resets of the server are not answered'),
    why: 'a cell could hold more streams open than it may',
  },
  {
    file: 'packages/channel/src/connection.ts',
    find: 'if (!this.#openLimit?.admit(monotonicMs())) {',
    replace: 'if (this.#openLimit === undefined) {',
    test: abuse('by opens and resets in a loop, one more than a second may have'),
    why: 'a cell could keep the host busy with opening streams',
  },
  {
    file: 'packages/channel/src/head.ts',
    find: " || text === '__proto__') return false;",
    replace: ') return false;',
    test: corrupted('a head with __proto__'),
    why: 'headers become keys of objects, and this one would change what the object inherits',
  },
  {
    file: 'packages/channel/src/head.ts',
    find: "    if (headers[name] !== undefined) return 'a header is there twice';\n",
    replace: '',
    test: corrupted('a head with a header twice'),
    why: 'who judges a request and who sends it on could go by two different headers',
  },
  {
    file: 'packages/channel/src/primordials.ts',
    find: 'export const parseJsonText = JSON.parse as (text: string) => unknown;',
    replace: 'export const parseJsonText = (text: string): unknown => JSON.parse(text);',
    test: {
      file: 'packages/channel/test/hostile-globals.test.ts',
      name: 'a guest whose author made only JSON throw works the same',
    },
    why: 'author code in the same realm could change what the guest reads from the host',
  },
  {
    file: 'packages/engine/src/attempt/control-plane.ts',
    find: "    if (this.#resultOpen) return this.#violate('a second result');\n",
    replace: '',
    test: control('a result is taken once, as the text that came'),
    why: 'a node could give two results, and each reader take another one',
  },
  {
    file: 'packages/engine/src/attempt/control-plane.ts',
    find: '!fileNamePattern.test(name) || ',
    replace: '',
    test: control('files may not exceed their count, overwrite one another or have odd names'),
    why: 'the name of a file could lead out of where it is written to',
  },
  {
    file: 'packages/engine/src/attempt/control-plane.ts',
    find: "        if (this.#filesBytes > filesBytes) throw new GloveboxError('FILES_LIMIT');\n",
    replace: '',
    test: control('files may not exceed the sum of bytes, one by one or together'),
    why: 'parallel uploads could fill the host’s disk',
  },
  {
    file: 'packages/engine/src/attempt/control-plane.ts',
    find: "    if (this.#phase === 'ended' || this.#resultWhole) return stream.reset(attemptEnded);",
    replace: '    if (this.#resultWhole) return stream.reset(attemptEnded);',
    test: control('order takes nothing in once the attempt has ended'),
    why: 'a cell on its way to being killed could still write records',
  },
  {
    file: 'packages/engine/src/attempt/control-plane.ts',
    find: '    if (target.origin !== controlOrigin) {',
    replace: '    if (!target.origin.endsWith(controlOrigin.slice(7))) {',
    test: control('hands every request that is not for the control plane to the egress of the attempt'),
    why: 'a request to another host whose name ends alike would be taken for one of ours',
  },
  {
    file: 'packages/engine/src/attempt/control-plane.ts',
    find: "if (this.#phase === 'booting') return this.#violate(",
    replace: "if (this.#phase === 'ended') return this.#violate(",
    test: control('order POST /result before dispatch ends the attempt'),
    why: 'a cell could give a result before it has a job',
  },
];
