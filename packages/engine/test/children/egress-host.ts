import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { egressPolicySchema, httpRuleSchema } from '@glovebox/contract';
import { bootClockMs, createDialer, createEgress, fixedResolver, systemResolver } from '@glovebox/egress';
import { EgressLogWriter } from '../../src/attempt/egress-log-writer.ts';

/**
 * The host's side of an attempt that asks for one path after another, eight at a time, for ever.
 *
 * Arguments: a file that takes a line of JSON for each record, as slowly as a disk, and the origin's port on loopback.
 */
const [file = '', port = ''] = process.argv.slice(2);
const log = new EgressLogWriter(
  {
    async append(entries) {
      await sleep(5);
      appendFileSync(file, entries.map(({ record }) => `${JSON.stringify(record)}\n`).join(''));
    },
  },
  'default',
);
const dialer = createDialer({
  resolver: fixedResolver({ 'origin.test': ['127.0.0.1'] }, systemResolver()),
  extraCa: [],
  proxy: undefined,
});
const session = createEgress(dialer).open({
  project: 'default',
  run: 'run_1',
  attempt: 'att_1',
  node: 'a-node',
  grant: {
    rules: [
      httpRuleSchema.parse({
        scheme: 'http',
        host: 'origin.test',
        port: Number(port),
        methods: ['GET'],
        paths: ['/*'],
      }),
    ],
    maxRequests: 10_000,
    maxResponseBytes: 1024 ** 3,
    maxRedirects: 0,
  },
  policy: egressPolicySchema.parse({
    allowances: [
      { id: 'loopback', host: 'origin.test', cidrs: ['127.0.0.0/8'], ports: [Number(port)], reason: 'it is a test' },
    ],
  }),
  deadlineAtBootMs: bootClockMs() + 60_000,
  bootMs: bootClockMs,
  now: Date.now,
  record: (record) => log.record(record),
});

let asked = 0;
const ask = (): Promise<void> =>
  session.accept({
    head: { method: 'GET', url: `http://origin.test:${port}/${++asked}`, headers: {} },
    body: (async function* () {})(),
    signal: new AbortController().signal,
    respond: () => undefined,
    write: async () => undefined,
    end: () => undefined,
    reset: () => undefined,
  });
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (;;) await ask();
  }),
);
