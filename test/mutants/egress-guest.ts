import type { Mutant } from './mutant.ts';

const connections = (name: string): Mutant['test'] => ({ file: 'packages/guest/test/connections.test.ts', name });
const closed = (name: string): Mutant['test'] => ({
  file: 'packages/guest/test/closed-network.test.ts',
  name: `a node that declares no http ${name}`,
});
const many = (name: string): Mutant['test'] => ({
  file: 'packages/guest/test/fetch.test.ts',
  name: `many at once ${name}`,
});
const head = (name: string): Mutant['test'] => ({ file: 'packages/guest/src/net/request-head.test.ts', name });
const body = (name: string): Mutant['test'] => ({ file: 'packages/guest/src/net/request-body.test.ts', name });
const onlyHttp = connections('what is no HTTP/1.1 fails at once with CELL_HTTP_ONLY, whoever connects and however');
const names = connections('node:http and node:https are not led to another host by a name that is more than a name');
const length = connections('node:http and node:https fail where an answer has another length than it says');

/** How a node asks for the outside, and what it is told. */
export const egressGuestMutants: readonly Mutant[] = [
  {
    file: 'packages/guest/src/net/connect-target.ts',
    find: "foreignHost.test(unsafeHost) ? domainToASCII(unsafeHost) : ''",
    replace: 'domainToASCII(unsafeHost)',
    test: names,
    why: 'a name with a path in it would lead to another host than the one that was named',
  },
  {
    file: 'packages/guest/src/net/connect-target.ts',
    find: 'if (serverFirst.has(port)) throw',
    replace: 'if (false) throw',
    test: onlyHttp,
    why: 'a client of mail would wait for a greeting until the deadline',
  },
  {
    file: 'packages/guest/src/net/connect-target.ts',
    find: "if (path !== undefined && path !== null && path !== '') throw",
    replace: 'if (false) throw',
    test: onlyHttp,
    why: 'a socket path would be taken for localhost',
  },
  {
    file: 'packages/guest/src/net/request-head.ts',
    find: "if (!target.startsWith('/')) throw",
    replace: 'if (false) throw',
    test: head('does not serve as a proxy'),
    why: 'a request for another host would become a path of this one',
  },
  {
    file: 'packages/guest/src/net/request-head.ts',
    find: `\${origin.host}:\${origin.port}\${pathOf(`,
    replace: `\${origin.host}\${pathOf(`,
    test: connections('node:http and node:https are not taken for requests of the harness, whatever they ask for'),
    why: 'whoever gives a node a URL could ask for the job, or tell its result',
  },
  {
    file: 'packages/guest/src/net/request-head.ts',
    find: ' || length !== undefined)',
    replace: ')',
    test: head('reads where the body ends, and refuses two readings of it'),
    why: 'a request could hide another in its body',
  },
  {
    file: 'packages/guest/src/net/request-body.ts',
    find: "if (line !== '') return { step: { kind: 'broken' }, used: at };",
    replace: '',
    test: body('stops at what is no chunk'),
    why: 'bytes behind a chunk would vanish',
  },
  {
    file: 'packages/guest/src/net/conversation.ts',
    find: 'if (framing.left < 0) throw wrongLength();',
    replace: '',
    test: length,
    why: 'what is beyond an answer would be read as the next one',
  },
  {
    file: 'packages/guest/src/net/conversation.ts',
    find: "if (framing.kind === 'length' && framing.left > 0) {",
    replace: 'if (false) {',
    test: length,
    why: 'half an answer would pass for a whole one, or its reader wait for ever',
  },
  {
    file: 'packages/guest/src/net/refusing-fetch.ts',
    find: "          exchange.cancel('not declared');\n          refuse(notDeclared());",
    replace: '          _resolve(new Response());',
    test: closed('gets nothing of an answer that should not have been'),
    why: 'an answer would reach a node that declares nothing',
  },
  {
    file: 'packages/guest/src/net/turns.ts',
    find: 'this.#open < maxOpenRequests && ',
    replace: '',
    test: many('are all answered, 32 at a time'),
    why: 'requests would take the streams that log, files and the result need',
  },
  {
    file: 'packages/guest/src/net/egress-error.ts',
    find: "if (isEgressCode(property(error, 'code'))) {",
    replace: 'if (false) {',
    test: connections(
      'an answer that is the host’s own ends the run with its code through a library that wraps it twice',
    ),
    why: 'a denied request would be reported as a fault of the node',
  },
  {
    file: 'packages/guest/src/net/egress-error.ts',
    find: 'if (property(error, nodeErrorMark) === true) return error;',
    replace: 'return error;',
    test: connections(
      'an answer that is the host’s own is told with its details through a library that copies its code',
    ),
    why: 'the patch of a denial would be lost where a library copies no more than its code',
  },
  {
    file: 'packages/guest/src/harness/attempt.ts',
    find: 'runSoon(() => undefined);',
    replace: '',
    test: connections('what is no HTTP/1.1 fails one that waits so and takes no notice of what it hears'),
    why: 'the process would end without a result',
  },
];
