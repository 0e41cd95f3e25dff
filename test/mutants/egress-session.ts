import type { Mutant } from './mutant.ts';

const source = (name: string): string => `packages/egress/src/${name}.ts`;
const attempt = (name: string): string => `packages/engine/src/attempt/${name}.ts`;
const session = (name: string): Mutant['test'] => ({ file: source('session.test'), name });
const budgets = (name: string): Mutant['test'] => ({ file: source('session-budgets.test'), name });
const fence = (name: string): Mutant['test'] => ({ file: source('session-fence.test'), name });
const stopped = (name: string): Mutant['test'] => ({ file: source('session-stopped.test'), name });
const ending = (name: string): Mutant['test'] => ({
  file: attempt('run-attempt.test'),
  name: `the egress of an attempt ${name}`,
});

/** When something may leave, how much of it, and what is on record of it. */
export const egressSessionMutants: readonly Mutant[] = [
  {
    file: source('fence'),
    find: 'Math.max(0, this.#deadlineAtBootMs - this.#bootMs());',
    replace: 'this.#deadlineAtBootMs;',
    test: stopped(
      'sends no request that came while the host was stopped, on a connection that is kept, when it wakes after the deadline',
    ),
    why: 'a host that was stopped would send for an attempt that another one has taken over',
  },
  {
    file: source('fence'),
    find: 'this.#deadlineAtBootMs - this.#bootMs());',
    replace: 'this.#deadlineAtBootMs - (this.#bootMs() || 0));',
    test: fence('at the deadline not even where the clock tells nothing'),
    why: 'a clock that cannot be read would lift every deadline',
  },
  {
    file: source('fence-clock'),
    find: ' && Math.abs(wallMs - last.wallMs) <= keptMs;',
    replace: ';',
    test: {
      file: source('fence-clock.test'),
      name: 'reads anew when the wall clock has moved forwards, as after the host slept, though the monotonic one stood still',
    },
    why: 'a host that slept would send on a reading from before',
  },
  {
    file: source('session'),
    find: '    clearTimeout(this.#deadlineTimer);\n    this.#stop();',
    replace: '    clearTimeout(this.#deadlineTimer);',
    test: fence('the end of an attempt is not held up where its origin has not answered'),
    why: 'what is open would go on after the attempt',
  },
  {
    file: source('session'),
    find: '    this.#scope?.destroy();',
    replace: '',
    test: fence('the end of an attempt closes connections that are kept'),
    why: 'connections would outlive the attempt that they are for',
  },
  {
    file: source('session-exchange'),
    find: '        fence.check();\n        this.#sending = this.#send(chunk);',
    replace: '        this.#sending = this.#send(chunk);',
    test: fence('at the deadline an answer ends: the next chunk comes at it'),
    why: 'an attempt could receive after its deadline',
  },
  {
    file: source('session-exchange'),
    find: '      await this.#sending.catch(() => {});\n      throw error;',
    replace: '      throw error;',
    test: {
      file: source('session-broken-off.test'),
      name: 'what is on record of an answer that breaks off is what the cell has got where the chunk after one that is on its way is over the budget',
    },
    why: 'a cell would have more of an answer than its record tells',
  },
  {
    file: source('answers'),
    find: 'addressReasons.has(reason) ? hint : message',
    replace: 'message',
    test: session('a request that is denied for the address that its name leads to is told by who could allow that'),
    why: 'a node could map the inside by asking for names that it may ask for',
  },
  {
    file: source('session-exchange'),
    find: "    signal.addEventListener('abort', stop);",
    replace: '',
    test: session('a request that is allowed is given up at its origin when the cell gives it up'),
    why: 'what a node has given up would go on at its cost',
  },
  {
    file: source('session-exchange'),
    find: 'await this.#ports.keepDecided(this.#record);',
    replace: 'this.#ports.keepDecided(this.#record).catch(() => undefined);',
    test: session('records are kept before anything leaves'),
    why: 'something could leave of which nothing is on record',
  },
  {
    file: source('session'),
    find: '    if (this.#unrecorded === undefined) return;\n',
    replace: '    if (this.#unrecorded !== null) return;\n',
    test: session('records that cannot be kept let nothing leave, then or later, and fail the end of the attempt'),
    why: 'a full disk would let requests leave unrecorded',
  },
  {
    file: source('session'),
    find: '    if (this.#unrecorded !== undefined) throw this.#unrecorded;\n',
    replace: '',
    test: session(
      'records of an end that cannot be kept fail the end of the attempt too, though the cell has its answer',
    ),
    why: 'an attempt would be closed as if all of it were on record',
  },
  {
    file: source('session'),
    find: 'return this.#refusals <= maxRefusals;',
    replace: 'return true;',
    test: session('a request that is denied is answered 10,000 times, then ends the attempt'),
    why: 'a node could keep the host busy with refusals for ever',
  },
  {
    file: source('session-admission'),
    find: "  if (decision.kind === 'denied') return refused(denied(decision, method, target));\n",
    replace: '',
    test: session(
      'a request that is denied for METHOD_NOT_DECLARED reaches nobody, and says so to the cell and on record',
    ),
    why: 'every request would leave',
  },
  {
    file: source('session-admission'),
    find: "    if (otherwise.kind === 'denied') return refused(denied(otherwise, other, target));\n",
    replace: '',
    test: session(
      'a request that is denied for the method that a header says it has reaches nobody, unless a rule allows that too',
    ),
    why: 'a node that may POST could DELETE on every server that takes the method from a header',
  },
  {
    file: source('headers'),
    find: ' || otherPaths.some((name) => name in headers)',
    replace: '',
    test: {
      file: source('headers.test'),
      name: 'headers of a request are refused with x-rewrite-url, by which servers take another path',
    },
    why: 'a node could ask for any path of a server that takes it from a header',
  },
  {
    file: source('session-answer-head'),
    find: 'const kept = returnedHeaders(headers);',
    replace: 'const kept: { [name: string]: string } = { ...headers };',
    test: session('a request that is allowed carries no header that is ours to say, either way'),
    why: 'an origin could speak to the node in our name',
  },
  {
    file: source('recording'),
    find: "(target?.path ?? '')",
    replace: "(target === undefined ? '' : target.path + target.query)",
    test: session('a request that is allowed reaches its origin and comes back, and is on record twice'),
    why: 'secrets in queries would be on record',
  },
  {
    file: source('answers'),
    find: '  if (!GloveboxError.is(error) || reason === undefined) {',
    replace: '  if (reason === undefined && GloveboxError.is(error)) {',
    test: session('a request that fails on the other side tells nothing of an error that names no reason'),
    why: 'a node would learn of what is inside the host from the text of a defect',
  },
  {
    file: source('budgets'),
    find: "    if (this.#requests >= this.#grant.maxRequests) return 'none-left';\n",
    replace: '',
    test: budgets('the number of requests ends at maxRequests, whatever came of them'),
    why: 'a node could make any number of requests',
  },
  {
    file: source('session-exchange'),
    find: "      if (this.#ports.budgets.takeRequest() === 'none-left') return false;\n",
    replace: '',
    test: budgets('the number of requests counts each retry, and allows none beyond it'),
    why: 'retries would be requests that no budget counts',
  },
  {
    file: source('session-exchange'),
    find: "      if (this.#ports.budgets.takeResponseBytes(chunk.byteLength) === 'none-left') throw tooLarge();\n",
    replace: '',
    test: budgets('the bytes of all answers count as they are unpacked, and what goes over is not unpacked further'),
    why: 'a bomb would be unpacked to its end',
  },
  {
    file: source('session-exchange'),
    find: '    if (declaredBytes(method, response) > budgets.responseBytesLeft) throw tooLarge();\n',
    replace: '',
    test: budgets('the bytes of all answers are known from the length where it is told, before the answer begins'),
    why: 'a node would be told of a whole answer and get a part of it',
  },
  {
    file: source('redirects'),
    find: "    if (known.hops > this.#maxRedirects) return 'too-many';\n",
    replace: '',
    test: budgets('redirects are each a request of their own, and end at maxRedirects'),
    why: 'a client could be led on for ever',
  },
  {
    file: attempt('run-attempt'),
    find: '    this.#session?.end();\n    this.#cell.kill(cause);',
    replace: '    this.#cell.kill(cause);\n    this.#session?.end();',
    test: ending('ends before the cell is killed at the end of the grace that a cancellation leaves it'),
    why: 'a cell that dies slowly could still send',
  },
  {
    file: attempt('run-attempt'),
    find: '    await this.#session?.settled();\n',
    replace: '',
    test: ending('fails the attempt when its records were not kept, once the cell is dead'),
    why: 'an attempt would be closed before the last of its requests is on record',
  },
  {
    file: source('dial-scope'),
    find: '    request.progress?.connected(connection.link.address, connection.link.protocol);\n    const isReused',
    replace: '    const isReused',
    test: budgets('the number of requests counts the retries of one that fails, and tells where each went'),
    why: 'of a request that got no answer the log would say that it went nowhere',
  },
  {
    file: source('tally'),
    find: 'tallies.toSorted(byDeparture).slice',
    replace: 'tallies.slice',
    test: {
      file: source('tally.test'),
      name: 'lists what may have left, however many decoys were refused more often',
    },
    why: 'a node could push what it sent out of its receipt',
  },
  {
    file: attempt('egress-log-writer'),
    find: "    if (record.outcome !== 'open' && ",
    replace: '    if (',
    test: {
      file: attempt('egress-log-writer.test'),
      name: 'has a request that is to leave wait until its decision is kept',
    },
    why: 'of what left just before the host died nothing would be on record',
  },
  {
    file: attempt('egress-log-writer'),
    find: '      this.#failure = { cause };\n',
    replace: '',
    test: {
      file: attempt('egress-log-writer.test'),
      name: 'rejects what waits, whatever comes after a failure, and flush, with what failed first',
    },
    why: 'records that were lost would be nobody’s loss',
  },
];
