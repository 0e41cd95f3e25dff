import { type EgressRecord, newAttemptId, newRunId } from '@glovebox/contract';
import { problemSchema, roles } from '@glovebox/contract/routes';
import type { Engine } from '@glovebox/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestApp, type TestApp } from '../test/kit.ts';
import type { Principal } from './handler.ts';

const policyPath = '/v1/projects/default/egress-policy';
const attended: Principal = { name: 'local:uid=7', roles };
const unattended: Principal = { ...attended, presence: 'unattended' };

let test: TestApp;
const open = async (principal: Principal): Promise<void> => {
  test = await openTestApp({ principal });
};
beforeEach(() => open(attended));
afterEach(() => test.close());

const denial = { id: 'no-pastes', host: '*.paste.example', reason: 'we were burnt' };
const allowance = { id: 'git', host: 'git.internal', cidrs: ['10.1.0.0/16'], ports: [443], reason: 'our git' };

async function answer(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await test.send(method, path, body === undefined ? {} : { body });
  const value = (await response.json()) as Record<string, unknown>;
  return response.status === 200 ? value : { ...problemSchema.parse(value) };
}
const set = (policy: object, expectedRevision: number, widening?: string) =>
  answer('PUT', policyPath, { policy, expectedRevision, ...(widening === undefined ? {} : { widening }) });
const check = (question: object) => answer('POST', `${policyPath}/checks`, { method: 'GET', ...question });

describe('the egress policy', () => {
  it('is the default until a narrower one is set, which nobody has to confirm, and is audited and signed', async () => {
    expect(await answer('GET', policyPath)).toMatchObject({
      policy: { allowances: [], denials: [], maximum: null },
      revision: 0,
      changedAtMs: null,
      changedBy: null,
    });
    const changed = await set({ denials: [denial] }, 0);
    expect(changed).toMatchObject({
      revision: 1,
      changed: true,
      changedBy: 'local:uid=7',
      policy: { denials: [denial] },
      changes: { widens: [], narrows: ['denies *.paste.example (denial no-pastes)'] },
    });
    const { changed: _, changes: __, ...shown } = changed;
    expect(await answer('GET', policyPath)).toEqual(shown);
    const [entry] = await test.engine.audit.list({ limit: 10, action: 'policy.set' });
    expect(entry).toMatchObject({ actor: 'local:uid=7', details: { revision: 1, digest: shown.digest } });
    expect(await test.engine.audit.latestCheckpoint()).toMatchObject({ seq: entry?.seq, hash: entry?.hash });
  });

  it('widens only where that is confirmed, and says by what', async () => {
    await set({ denials: [denial] }, 0);
    for (const widening of [undefined, 'refused'])
      expect(await set({ allowances: [allowance] }, 1, widening)).toMatchObject({
        code: 'EGRESS_POLICY_WIDER',
        status: 403,
        details: {
          widens: [
            'lets nodes reach git.internal at 10.1.0.0/16 on port 443 (allowance git)',
            'no longer denies *.paste.example (denial no-pastes)',
          ],
          narrows: [],
        },
      });
    expect(await answer('GET', policyPath)).toMatchObject({ revision: 1 });
    expect(await set({ allowances: [allowance] }, 1, 'confirmed')).toMatchObject({ revision: 2, changed: true });
  });

  it('is not widened by an unattended program, whatever it says is confirmed, and may be narrowed by it', async () => {
    await test.close();
    await open(unattended);
    expect(await set({ allowances: [allowance] }, 0, 'confirmed')).toMatchObject({ code: 'EGRESS_POLICY_WIDER' });
    expect(await set({ denials: [denial] }, 0, 'confirmed')).toMatchObject({ revision: 1 });
    expect(await set({}, 1, 'confirmed')).toMatchObject({ code: 'EGRESS_POLICY_WIDER' });
    expect(await answer('GET', policyPath)).toMatchObject({ revision: 1, policy: { denials: [denial] } });
  });

  it('is set over the revision that was seen, and over no other', async () => {
    expect(await set({ denials: [denial] }, 1)).toMatchObject({ code: 'EGRESS_POLICY_STALE', status: 409 });
    expect(await set({ denials: [denial] }, 0)).toMatchObject({ revision: 1 });
    expect(await set({ denials: [denial] }, 0)).toMatchObject({ code: 'EGRESS_POLICY_STALE' });
  });

  it('stays at its revision when it is set to what it is', async () => {
    await set({ denials: [denial] }, 0);
    expect(await set({ denials: [denial] }, 1)).toMatchObject({ revision: 1, changed: false });
    expect(await test.engine.audit.list({ limit: 10 })).toHaveLength(1);
  });

  it.each([
    [
      'a block with bits beyond its prefix',
      { allowances: [{ ...allowance, cidrs: ['10.1.2.3/8'] }] },
      '/allowances/0/cidrs/0',
    ],
    ['two rules of one id', { denials: [denial, denial] }, '/denials/1/id'],
  ])('is refused with the place where it has %s', async (_what, policy, path) => {
    expect(await set(policy, 0, 'confirmed')).toMatchObject({ code: 'EGRESS_POLICY_INVALID', place: { path } });
    expect(await answer('GET', policyPath)).toMatchObject({ revision: 0 });
  });

  it('that is damaged is replaced by one that is confirmed, and by no other', async () => {
    const { egressPolicies } = test.engine;
    await egressPolicies.set('default', { schema: 'none of ours' } as never, 0, 'x', 1);
    expect(await answer('GET', policyPath)).toMatchObject({ code: 'EGRESS_POLICY_INVALID' });
    expect(await set({ denials: [denial] }, 1)).toMatchObject({ code: 'EGRESS_POLICY_WIDER' });
    expect(await set({ denials: [denial] }, 1, 'confirmed')).toMatchObject({ revision: 2 });
    expect(await answer('GET', policyPath)).toMatchObject({ policy: { denials: [denial] } });
  });
});

describe('a check', () => {
  const rules = [{ host: 'api.example.com', methods: ['GET'], paths: ['/v1/**'] }];

  it('says which rule of a manifest allows a request, or the patch that would', async () => {
    expect(await check({ url: 'https://api.example.com/v1/x?secret=1', rules })).toEqual({
      allowed: true,
      request: {
        method: 'GET',
        scheme: 'https',
        host: 'api.example.com',
        port: 443,
        path: '/v1/x',
        websocket: false,
      },
      declaredBy: 'rules',
      rule: 'http.rules[0]',
      reason: null,
      hint: null,
      patch: null,
      approver: null,
      allowances: [],
      addresses: null,
      revision: 0,
    });
    expect(await check({ method: 'POST', url: 'https://api.example.com/v1/x', rules })).toMatchObject({
      allowed: false,
      declaredBy: 'rules',
      reason: 'METHOD_NOT_DECLARED',
      approver: 'approver',
      patch: { rules: [{ host: 'api.example.com', methods: ['POST'], paths: ['/v1/x'] }] },
    });
  });

  it('of a manifest without http tells so', async () => {
    expect(await check({ url: 'https://api.example.com/', rules: [] })).toMatchObject({
      allowed: false,
      reason: 'HTTP_NOT_DECLARED',
    });
  });

  it('of a URL that can be read in two ways is a denial without a request', async () => {
    expect(await check({ url: 'https://api.example.com@evil.example/' })).toMatchObject({
      allowed: false,
      request: null,
      reason: 'URL_REFUSED',
    });
  });

  it('without a node says what the policy alone does', async () => {
    await set({ denials: [denial], allowances: [allowance] }, 0, 'confirmed');
    expect(await check({ url: 'https://a.paste.example/' })).toMatchObject({
      allowed: false,
      declaredBy: 'nobody',
      reason: 'DENIED_BY_POLICY',
      rule: 'no-pastes',
      approver: 'admin',
      revision: 1,
    });
    expect(await check({ url: 'https://git.internal/x' })).toMatchObject({ allowed: true, allowances: ['git'] });
    expect(await check({ url: 'https://git.internal:8443/x' })).toMatchObject({ allowed: true, allowances: [] });
  });

  it('looks up a name that is allowed, and judges every address of it', async () => {
    const asked: string[] = [];
    const answers: { [host: string]: number[][] } = {
      'git.internal': [[10, 1, 2, 3]],
      'rebound.example': [
        [93, 184, 215, 14],
        [10, 0, 0, 1],
      ],
    };
    (test.engine as { resolver?: Engine['resolver'] }).resolver = {
      resolve: async (host) => {
        asked.push(host);
        return (answers[host] ?? []).map((bytes) => Uint8Array.from(bytes));
      },
    };
    await set({ denials: [denial], allowances: [allowance] }, 0, 'confirmed');
    const look = (url: string) => check({ url, addresses: 'look-up' });
    expect(await look('https://git.internal/')).toMatchObject({
      allowed: true,
      addresses: [{ address: '10.1.2.3', allowed: true, reason: null }],
    });
    expect(await look('https://git.internal:8443/')).toMatchObject({ allowed: false, reason: 'ADDRESS_NOT_PUBLIC' });
    expect(await look('https://rebound.example/')).toMatchObject({
      allowed: false,
      reason: 'ADDRESS_NOT_PUBLIC',
      approver: 'admin',
      addresses: [
        { address: '93.184.215.14', allowed: true },
        { address: '10.0.0.1', allowed: false, reason: 'ADDRESS_NOT_PUBLIC' },
      ],
    });
    expect(asked).toEqual(['git.internal', 'git.internal', 'rebound.example']);
    expect(await look('https://a.paste.example/')).toMatchObject({ allowed: false, addresses: null });
    expect(asked).toHaveLength(3);
  });

  it('is of a release, which has to be there, or of rules, and not of both', async () => {
    expect(await check({ url: 'https://a.example/', node: 'some-node' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await check({ url: 'https://a.example/', node: 'some-node', rules })).toMatchObject({
      code: 'REQUEST_INVALID',
      place: { path: '/rules' },
    });
  });
});

describe('the list of requests', () => {
  const run = newRunId();
  const record = (seq: number, over: Partial<EgressRecord>): { project: string; record: EgressRecord } => ({
    project: 'default',
    record: {
      seq,
      at: '2026-09-21T14:13:20.000Z',
      purpose: 'node',
      run,
      attempt: newAttemptId(),
      node: 'some-node',
      method: 'GET',
      scheme: 'https',
      host: 'api.example.com',
      port: 443,
      path: '/',
      outcome: 'done',
      rule: 'http.rules[0]',
      reason: null,
      address: '192.0.2.1',
      protocol: 'h1',
      status: 200,
      bytesUp: 0,
      bytesDown: 5,
      durationMs: 1.5,
      retries: 0,
      ...over,
    },
  });

  it('has the newest first, in pages, by run, host and outcome', async () => {
    await test.engine.egressLog.append([
      record(1, {}),
      record(2, { host: 'b.example.com' }),
      record(3, { outcome: 'denied', reason: 'HOST_NOT_DECLARED', rule: null, run: newRunId() }),
    ]);
    const list = async (query: string) =>
      ((await answer('GET', `/v1/projects/default/egress${query}`)).records as { seq: number; cursor: string }[]) ?? [];
    expect((await list('')).map(({ seq }) => seq)).toEqual([3, 2, 1]);
    const [first] = await list('?limit=1');
    expect((await list(`?before=${first?.cursor}`)).map(({ seq }) => seq)).toEqual([2, 1]);
    expect((await list(`?run=${run}&host=b.example.com`)).map(({ seq }) => seq)).toEqual([2]);
    expect((await list('?outcome=denied')).map(({ seq }) => seq)).toEqual([3]);
    expect(await answer('GET', '/v1/projects/default/egress?outcome=lost')).toMatchObject({ code: 'REQUEST_INVALID' });
  });
});
