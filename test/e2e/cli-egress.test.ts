import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { egressPolicySchema } from '@glovebox/contract';
import { openStore } from '@glovebox/store-sqlite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeCa } from '../../packages/egress/test/ca.ts';
import { closeOrigins, openHttp1 } from '../../packages/egress/test/origins.ts';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
const ca = makeCa();
let origin: Awaited<ReturnType<typeof openHttp1>>;

/** Asks for the URL of its input. */
const asking = (rules: object[]) => ({
  id: 'asker',
  body: `const answer = await fetch(ctx.input.url); return { status: answer.status, text: await answer.text() };`,
  manifest: { capabilities: { http: { rules } } },
});

beforeAll(async () => {
  origin = await openHttp1((_request, response) => void response.end('hello'), ca.issue(['DNS:git.internal']));
  const rule = { methods: ['GET'], paths: ['/v1/**'], port: origin.port, reason: 'a test' };
  await cli().node('asker', asking(['git.internal', 'elsewhere.internal'].map((host) => ({ ...rule, host }))));
  await cli().node('silent', { id: 'silent', body: 'return 1;' });
  writeFileSync(join(cli().dir, 'ca.pem'), ca.cert);
  writeFileSync(
    join(cli().dataDir, 'glovebox.yaml'),
    `egress: { extraCa: [${join(cli().dir, 'ca.pem')}], hosts: { git.internal: 127.0.0.1, elsewhere.internal: 127.0.0.2 } }\n`,
    { mode: 0o600 },
  );
});
afterAll(closeOrigins);

const ask = async (path: string, host = 'git.internal') => {
  const input = JSON.stringify({ url: `https://${host}:${origin.port}${path}` });
  const ran = await cli().run(['node', 'run', 'asker', '--trial', '--input', input, '--json']);
  return {
    code: ran.code,
    ...(ran.json() as unknown as { run: string; output: unknown; error: { code: string } | null }),
  };
};
const logOf = async (run: string) =>
  (
    (await cli().run(['egress', 'log', '--run', run, '--json'])).json() as {
      records: { outcome: string; reason: string | null; rule: string; address: string | null; path: string }[];
    }
  ).records;

describe('a node with http', () => {
  it('reaches an inner host that an allowance, a table of hosts and a certificate lead to, and nothing beside it', async () => {
    const refused = await ask('/v1/x?token=1');
    expect(refused).toMatchObject({ code: 1, error: { code: 'EGRESS_DENIED' } });
    expect(await logOf(refused.run)).toMatchObject([
      { outcome: 'denied', reason: 'ADDRESS_NOT_PUBLIC', path: '/v1/x', address: null },
    ]);
    expect(origin.seen).toHaveLength(0);

    const allowance = { id: 'git', host: '*.internal', cidrs: ['127.0.0.1/32'], ports: [origin.port], reason: 'r' };
    const store = await openStore(join(cli().dataDir, 'glovebox.db'));
    await store.egressPolicies.set('default', egressPolicySchema.parse({ allowances: [allowance] }), 0, 'test', 1);
    await store.close();

    const answered = await ask('/v1/x?token=1');
    expect(answered).toMatchObject({ code: 0, output: { status: 200, text: 'hello' } });
    expect(origin.seen).toHaveLength(1);
    expect(await logOf(answered.run)).toMatchObject([
      { outcome: 'done', reason: null, rule: 'http.rules[0]', path: '/v1/x', address: '127.0.0.1' },
    ]);

    const undeclared = await ask('/v2/x');
    expect(await logOf(undeclared.run)).toMatchObject([{ outcome: 'denied', reason: 'PATH_NOT_DECLARED' }]);
    const elsewhere = await ask('/v1/x', 'elsewhere.internal');
    expect(await logOf(elsewhere.run)).toMatchObject([{ outcome: 'denied', reason: 'ADDRESS_NOT_PUBLIC' }]);
    expect(origin.seen).toHaveLength(1);
  });

  it('does not begin under a policy that cannot be read, and one without http does not need any', async () => {
    const store = await openStore(join(cli().dataDir, 'glovebox.db'));
    const { revision } = await store.egressPolicies.get('default');
    await store.egressPolicies.set('default', { schema: 'another' } as never, revision, 'test', 1);
    await store.close();
    const before = origin.seen.length;
    const run = (name: string) =>
      cli().run(['node', 'run', name, '--trial', '--json', '--input', '{"url":"https://x.example/"}']);
    const ran = await run('asker');
    expect({ code: ran.code, error: ran.json().error?.code }).toEqual({ code: 2, error: 'EGRESS_POLICY_INVALID' });
    expect(origin.seen).toHaveLength(before);
    expect((await run('silent')).code).toBe(0);
  });
});
