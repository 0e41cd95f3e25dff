import type { Mutant } from './mutant.ts';

const inTests =
  (file: string) =>
  (name: string): Mutant['test'] => ({ file: `packages/egress/src/${file}.test.ts`, name });
const connecting = inTests('vetted-connect');
const asking = inTests('dial-scope');
const hostile = inTests('dial-hostile');
const bodies = inTests('dial-body');
const decoding = inTests('decode-body');
const tunnels = inTests('proxy');
const upgrades = inTests('upgrade');
const retrying = inTests('dial-retry');

/** From a name to the last byte of an answer: what is connected to, by whom, for how long, and how much of it is taken in. */
export const egressDialerMutants: readonly Mutant[] = [
  {
    file: 'packages/egress/src/vet-addresses.ts',
    find: '  for (const address of addresses) {',
    replace: '  for (const address of addresses.slice(0, 1)) {',
    test: connecting('a name is refused when it leads to a public address and then a private one'),
    why: 'a name with a public address first would lead on to a private one',
  },
  {
    file: 'packages/egress/src/vet-addresses.ts',
    find: '  signal.throwIfAborted();',
    replace: '',
    test: connecting('a name is told to no name server for a request that nobody waits for any more'),
    why: 'a name that a node made up would reach a name server after its attempt has ended',
  },
  {
    file: 'packages/egress/src/race-addresses.ts',
    find: '        fence();',
    replace: '',
    test: connecting('addresses are asked of the fence one by one: none is tried after it has closed'),
    why: 'a host that was stopped would knock at the next address when it wakes',
  },
  {
    file: 'packages/egress/src/proxy.ts',
    find: '      permit.fence();\n      const socket',
    replace: '      const socket',
    test: tunnels('behind a proxy nothing is asked of it after the fence has closed, nor is it connected to again'),
    why: 'a proxy would be asked for a connection of an attempt that has ended',
  },
  {
    file: 'packages/egress/src/dial-scope.ts',
    find: 'allowances.map(({ id }) => id).sort(), ',
    replace: '',
    test: connecting('a name is judged with the allowances of its request'),
    why: 'a connection that an allowance let through would carry requests without it',
  },
  {
    file: 'packages/egress/src/dial-tls.ts',
    find: 'rejectUnauthorized: true',
    replace: 'rejectUnauthorized: false',
    test: connecting('TLS is refused with a certificate that it made itself'),
    why: 'anybody on the way could read and change what a node sends',
  },
  {
    file: 'packages/egress/src/dial-tls.ts',
    find: 'checkServerIdentity(host, certificate)',
    replace: 'undefined',
    test: connecting('TLS is refused with a certificate for another name'),
    why: 'whoever has a certificate for any name could stand for all of them',
  },
  {
    file: 'packages/egress/src/dial-tls.ts',
    find: 'identity === undefined ? constants.SSL_OP_NO_RENEGOTIATION : 0',
    replace: '0',
    test: connecting('TLS shakes hands and not again when the origin wants to'),
    why: 'an origin could keep the host busy with handshakes for as long as a request may take',
  },
  {
    file: 'packages/egress/src/dial-request-headers.ts',
    find: "  'host',\n",
    replace: '',
    test: asking('leads by its target alone to host and name, whatever the headers say'),
    why: 'a node could ask a front end for a site that no rule allows',
  },
  {
    file: 'packages/egress/src/dial-exchange.ts',
    find: '          fence();\n',
    replace: '',
    test: bodies('asks the fence before the head, after whatever was waited for'),
    why: 'a request that waited for its connection would leave after its attempt has ended',
  },
  {
    file: 'packages/egress/src/dial-body.ts',
    find: '      fence();\n',
    replace: '',
    test: bodies('a large body over h1 is stopped by the fence in its middle'),
    why: 'the rest of a body would leave after its attempt has ended',
  },
  {
    file: 'packages/egress/src/dial-body.ts',
    find: 'bytes > declaredBytes',
    replace: 'bytes < 0',
    test: bodies('breaks off a body that is not as long as it says, before the first byte too many'),
    why: 'what is behind the end of a body could be read as a request that no rule allows',
  },
  {
    file: 'packages/egress/src/dial-body.ts',
    find: '  fence();\n}',
    replace: '}',
    test: bodies('asks the fence once more before the end, which is what sends the head of an empty body'),
    why: 'the head of a request whose body is empty would leave after its attempt has ended',
  },
  {
    file: 'packages/egress/src/dial-connections.ts',
    find: 'this.#open.size < maxKept',
    replace: 'this.#open.size >= 0',
    test: asking('keeps no more than 64 connections for later, and none of those that something is on is dropped'),
    why: 'a node that goes through the sub-domains of a host would use up the sockets of this one',
  },
  {
    file: 'packages/egress/src/dial-tls.ts',
    find: '          ...streamOptions,\n',
    replace: '',
    test: bodies('lets one piece through the fence before the socket has taken it: https'),
    why: 'four more pieces of a body would leave after its attempt has ended, once a slow origin reads',
  },
  {
    file: 'packages/egress/src/dial-scope.ts',
    find: "target.scheme === 'https' && body === undefined",
    replace: "target.scheme === 'https'",
    test: inTests('dial-http2')(
      'an HTTP/2 origin gets bodies by HTTP/1.1, which cannot make Node.js write empty frames for ever',
    ),
    why: 'an origin that gives room for a body that was given up would have the host write empty frames for ever',
  },
  {
    file: 'packages/egress/src/dial-sockets.ts',
    find: '  else socket.resetAndDestroy();',
    replace: '',
    test: bodies('drops what the kernel still holds when a scope ends: the origin finds a reset, not the rest'),
    why: 'what lies in the kernel would be sent after its attempt has ended',
  },
  {
    file: 'packages/egress/src/dial-sockets.ts',
    find: '      if (ended) {',
    replace: '      if (!ended && ended) {',
    test: inTests('dial-sockets')('takes no socket any more once all were killed: it is killed too'),
    why: 'a look-up that takes long would end in a connection of an attempt that has ended',
  },
  {
    file: 'packages/egress/src/dial-body.ts',
    find: '      this.#flow.pause();',
    replace: '',
    test: bodies('a large body over h1 stops the origin while nobody reads it, and is not kept'),
    why: 'an origin could fill the memory of the host while a node does not read',
  },
  {
    file: 'packages/egress/src/dial-exchange.ts',
    find: '++interimAnswers > maxInterimAnswers',
    replace: '++interimAnswers < 0',
    test: hostile(
      'an origin that does not speak HTTP as it should may send a few heads before the answer, but not without end',
    ),
    why: 'an origin could keep the host busy with heads that are no answer',
  },
  {
    file: 'packages/egress/src/chatter.ts',
    find: 'socket.bytesRead - before >',
    replace: '0 >',
    test: hostile(
      'an origin that does not speak HTTP as it should is left when it sends an extension of a chunk without end',
    ),
    why: 'an origin could keep the host busy with what no budget counts and no reader slows down',
  },
  {
    file: 'packages/egress/src/dial-scope.ts',
    find: "value !== undefined && value.trim().toLowerCase() !== 'chunked'",
    replace: 'value === null',
    test: hostile('an origin that does not speak HTTP as it should is refused when it transfers by gzip, chunked'),
    why: 'a node would take packed bytes for plain ones',
  },
  {
    file: 'packages/egress/src/timeouts.ts',
    find: "setTimeout(() => expire('total', timeouts.total), timeouts.total)",
    replace: 'setTimeout(() => {}, 0)',
    test: hostile(
      'an origin that takes its time is left when its body drips on past the total deadline: in chunks without end',
    ),
    why: 'one byte now and then would hold a request open for ever',
  },
  {
    file: 'packages/egress/src/decode-body.ts',
    find: 'names.length > maxEncodings || known',
    replace: 'known',
    test: decoding('an encoded answer is refused before its body: 4'),
    why: 'a body packed a thousand times would cost the host a thousand decoders',
  },
  {
    file: 'packages/egress/src/decode-body.ts',
    find: 'params: { [zlib.ZSTD_d_windowLogMax]: zstdWindowLog }',
    replace: '',
    test: decoding('a small body that becomes a large one of zstd may not want more memory than 8 MiB'),
    why: 'each answer could make the host set a hundred megabytes aside',
  },
  {
    file: 'packages/egress/src/wide-decoders.ts',
    find: 'held < maxWide',
    replace: 'held >= 0',
    test: decoding(
      'many packed answers at once are asked for in what takes much memory only by a few of them, and again when those are through',
    ),
    why: 'sixty-four bodies of forty bytes would take a gigabyte of the host',
  },
  {
    file: 'packages/egress/src/dial-scope.ts',
    find: "answer.codings === 'narrow' && encodings.some(isWide)",
    replace: 'false',
    test: decoding('many packed answers at once are refused where they take much memory and were not asked for so'),
    why: 'an origin need only not heed what it is asked for, and would take a gigabyte of the host',
  },
  {
    file: 'packages/egress/src/decode-body.ts',
    find: 'surplus > emptyBytes',
    replace: 'surplus < -Infinity',
    test: decoding('is broken where it goes on and becomes nothing'),
    why: 'an origin could send without end what no budget counts',
  },
  {
    file: 'packages/egress/src/proxy.ts',
    find: 'openTunnel(spoken, formatAddress(address), port',
    replace: "openTunnel(spoken, 'localhost', port",
    test: tunnels('behind a proxy a request by http goes through a tunnel to the judged address'),
    why: 'a proxy would look a name up by itself, and nobody would judge what it finds',
  },
  {
    file: 'packages/egress/src/upgrade.ts',
    find: "    headers['sec-websocket-accept'] === accept",
    replace: '    true',
    test: upgrades('a WebSocket is not there when the origin agrees to another key'),
    why: 'a node would speak freely to a server that never agreed to a WebSocket',
  },
  {
    file: 'packages/egress/src/retry.ts',
    find: '  safeMethods.includes(request.method) && request.body === undefined;',
    replace: '  request.body === undefined;',
    test: retrying('POST with a body of undefined is never repeated'),
    why: 'an order would be placed twice',
  },
];
