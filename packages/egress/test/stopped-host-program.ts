import { Socket } from 'node:net';
import { serveChannel } from '@glovebox/channel';
import { egressPolicySchema, httpRuleSchema } from '@glovebox/contract';
import { bootClockMs } from '../src/boot-clock.ts';
import { createDialer } from '../src/dialer.ts';
import { openFenceClock } from '../src/fence-clock.ts';
import { fixedResolver, systemResolver } from '../src/resolver.ts';
import { createEgress } from '../src/session.ts';

/**
 * The host's side of one attempt as a process of its own, with the channel to its cell on descriptor 3. Says its
 * deadline by the boot clock on stdout once it is ready; dies when whoever started it closes the channel.
 *
 * Arguments: the origin's port on loopback, its CA in PEM, and milliseconds to the deadline.
 */
const [port = '', ca = '', leftMs = ''] = process.argv.slice(2);
const deadlineAtBootMs = bootClockMs() + Number(leftMs);
const dialer = createDialer({
  resolver: fixedResolver({ 'origin.test': ['127.0.0.1'] }, systemResolver()),
  extraCa: [ca],
  proxy: undefined,
});
const session = createEgress(dialer).open({
  project: 'default',
  run: 'run_1',
  attempt: 'att_1',
  node: 'a-node',
  grant: {
    rules: [httpRuleSchema.parse({ host: 'origin.test', port: Number(port), methods: ['GET', 'PUT'], paths: ['/**'] })],
    maxRequests: 100,
    maxResponseBytes: 1024 ** 3,
    maxRedirects: 0,
  },
  policy: egressPolicySchema.parse({
    allowances: [
      { id: 'loopback', host: 'origin.test', cidrs: ['127.0.0.0/8'], ports: [Number(port)], reason: 'it is a test' },
    ],
  }),
  deadlineAtBootMs,
  bootMs: openFenceClock(),
  now: Date.now,
  record: async () => undefined,
});
const channel = serveChannel(new Socket({ fd: 3 }), (stream) => session.accept(stream));
process.stdout.write(`${deadlineAtBootMs}\n`);
await channel.ended;
process.exit(0);
