import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson, sha256Of } from '@glovebox/artifact';
import { GloveboxError, type ReceiptPredicate, receiptStatementSchema } from '@glovebox/contract';
import type { Engine, TrialResult } from '@glovebox/engine';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Origin } from '../../packages/egress/test/origins.ts';
import type { NodeSource } from '../support/node-package.ts';
import { useHttpCells } from '../support/use-http-cells.ts';

const { cells, openOrigin, allow, run: runSource, recordsOf } = useHttpCells();

let origin: Origin;
const got = { bytes: 0 };
let answer: (request: IncomingMessage, response: ServerResponse) => void;
beforeEach(async () => {
  got.bytes = 0;
  answer = (_request, response) => void response.end('hello');
  origin = await openOrigin((request, response) => {
    request.on('data', (chunk: Buffer) => {
      got.bytes += chunk.length;
    });
    answer(request, response);
  });
  await allow(origin.port);
});

const run = (source: NodeSource, over: Partial<Engine> = {}): Promise<TrialResult> =>
  runSource(source, { input: { url: `https://origin.test:${origin.port}/` }, over });

const asking = (rule: object = {}, resources: object = {}) => ({
  capabilities: {
    http: {
      rules: [
        { host: 'origin.test', port: origin.port, methods: ['GET', 'PUT'], paths: ['/**'], reason: 'a test', ...rule },
      ],
    },
  },
  resources,
});

async function receiptOf({ run: id, attempt }: TrialResult): Promise<ReceiptPredicate> {
  const found = await cells().engine.store.get('default', id);
  const text = found?.attempts.find((one) => one.id === attempt)?.end?.receiptText ?? '';
  const { payload } = JSON.parse(text) as { payload: string };
  return receiptStatementSchema.parse(JSON.parse(Buffer.from(payload, 'base64').toString())).predicate;
}

describe('what a node asks of the outside', () => {
  it('is on record and in its receipt, with what came of it', async () => {
    const result = await run({
      manifest: asking(),
      body: `
        const answer = await ctx.fetch(ctx.input.url);
        const denied = await ctx.fetch('https://private.test/').catch((error) => error.code ?? error.cause?.code);
        return [await answer.text(), denied];`,
    });
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: ['hello', 'EGRESS_DENIED'], egressRequests: 2 });
    const [first, second] = await recordsOf(result);
    expect(first).toMatchObject({
      seq: 1,
      run: result.run,
      attempt: result.attempt,
      node: 'test-node',
      host: 'origin.test',
      outcome: 'done',
      rule: 'http.rules[0]',
      address: '127.0.0.1',
      status: 200,
      bytesDown: 5,
    });
    expect(second).toMatchObject({ seq: 2, host: 'private.test', outcome: 'denied', reason: 'HOST_NOT_DECLARED' });
    const { egress } = (await receiptOf(result)).observed;
    const tally = { scheme: 'https', method: 'GET', count: 1 };
    expect(egress.requests).toBe(2);
    const { policy, revision } = await cells().engine.egressPolicies.get('default');
    expect(egress.policy).toEqual({ revision, digest: sha256Of(canonicalJson(policy)) });
    expect(result.egressDecisions).toEqual(egress.decisions);
    expect(egress.decisions).toEqual([
      { ...tally, host: 'origin.test', port: origin.port, outcome: 'done', rule: 'http.rules[0]', reason: null },
      { ...tally, host: 'private.test', port: 443, outcome: 'denied', rule: null, reason: 'HOST_NOT_DECLARED' },
    ]);
  });

  it('is denied and on record too where its manifest declares no http', async () => {
    const result = await run({
      body: `return await fetch(ctx.input.url).then(() => 'reached', (error) => (error.cause ?? error).code);`,
    });
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: 'EGRESS_DENIED', egressRequests: 1 });
    expect(await recordsOf(result)).toMatchObject([{ outcome: 'denied', reason: 'HTTP_NOT_DECLARED' }]);
    expect((await receiptOf(result)).observed.egress.policy).toBeUndefined();
    expect(origin.connections).toBe(0);
  });
});

describe('an upload that a node leaves open', () => {
  beforeEach(() => {
    answer = () => undefined;
  });

  /** One chunk of 1,000 bytes every 20 ms, for ever. */
  const drip = `
    const drip = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(new Uint8Array(1000));
      },
    });
    const upload = ctx.fetch(ctx.input.url, { method: 'PUT', body: drip, duplex: 'half' }).catch(() => undefined);`;

  it('ends with the result of the attempt', async () => {
    const source = { manifest: asking(), body: `${drip} await new Promise((r) => setTimeout(r, 500)); return 'left';` };
    const result = await run(source);
    const atEnd = got.bytes;
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: 'left' });
    expect(atEnd).toBeGreaterThan(0);
    await sleep(500);
    expect(got.bytes).toBe(atEnd);
    expect(origin.sockets.size).toBe(0);
    expect(await recordsOf(result)).toMatchObject([{ outcome: 'aborted', reason: 'ATTEMPT_ENDED' }]);
    expect((await receiptOf(result)).observed.egress.decisions).toMatchObject([{ outcome: 'aborted', count: 1 }]);
  });

  it('ends at the deadline of the attempt', async () => {
    const source = {
      manifest: asking({}, { timeout: '6s' }),
      body: `${drip} await upload; await ctx.clock.sleep(60_000); return 'never';`,
    };
    const result = await run(source);
    const atEnd = got.bytes;
    expect(result).toMatchObject({ state: 'TIMED_OUT' });
    expect(atEnd).toBeGreaterThan(0);
    await sleep(500);
    expect(got.bytes).toBe(atEnd);
    // By the driver's kill or by the session's own deadline, whichever comes first.
    expect(await recordsOf(result)).toMatchObject([{ outcome: 'aborted' }]);
  });
});

describe('a run whose egress cannot be judged or recorded', () => {
  const ask = () => ({ manifest: asking(), body: 'return (await ctx.fetch(ctx.input.url)).status;' });
  const stateOf = async () => {
    const [latest] = await cells().engine.store.list({ project: 'default', limit: 1 });
    return [latest?.state, latest?.errorCode];
  };

  it('fails without a cell when the policy of its project cannot be read', async () => {
    const { egressPolicies } = cells().engine;
    const broken = { ...egressPolicies, get: () => Promise.reject(new GloveboxError('EGRESS_POLICY_INVALID')) };
    const boots = cells().boots.filter((role) => role === 'run').length;
    await expect(run(ask(), { egressPolicies: broken })).rejects.toMatchObject({ code: 'EGRESS_POLICY_INVALID' });
    expect(cells().boots.filter((role) => role === 'run')).toHaveLength(boots);
    expect(await stateOf()).toEqual(['LOST', 'EGRESS_POLICY_INVALID']);
    expect(origin.connections).toBe(0);
  });

  it('fails before its node has its job when that policy cannot be compiled', async () => {
    const { egressPolicies } = cells().engine;
    const get: Engine['egressPolicies']['get'] = async (project) => {
      const found = await egressPolicies.get(project);
      const denials = [{ id: 'd', cidr: '10.0.0.1/8', reason: 'bits beyond its prefix' }];
      return { ...found, policy: { ...found.policy, denials } };
    };
    await expect(run(ask(), { egressPolicies: { ...egressPolicies, get } })).rejects.toMatchObject({
      code: 'EGRESS_POLICY_INVALID',
    });
    expect([await stateOf(), origin.connections]).toEqual([['LOST', 'EGRESS_POLICY_INVALID'], 0]);
  });

  it('fails when its records are not kept, whatever its node made of it', async () => {
    const { egressLog } = cells().engine;
    const full = { ...egressLog, append: () => Promise.reject(new GloveboxError('DISK_FULL')) };
    await expect(run(ask(), { egressLog: full })).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await stateOf()).toEqual(['LOST', 'DISK_FULL']);
    expect(origin.connections).toBe(0);
  });

  it('would have succeeded with both', async () => {
    expect(await run(ask())).toMatchObject({ state: 'SUCCEEDED', output: 200 });
  });
});
