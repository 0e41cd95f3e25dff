import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { egressPolicySchema } from '@glovebox/contract';
import { openStore } from '@glovebox/store-sqlite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeCa } from '../../packages/egress/test/ca.ts';
import { closeOrigins, type Origin, openHttp1 } from '../../packages/egress/test/origins.ts';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const cli = useCli();

/** Two pages, by `link`, and what is asked for by name. */
let origin: Origin;
beforeAll(async () => {
  const ca = makeCa();
  origin = await openHttp1(
    (request, response) => {
      const page = new URL(request.url ?? '', 'https://origin.test').searchParams.get('page');
      if (page === '1') response.setHeader('link', '</items?page=2>; rel="next"');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(page === '1' ? ['a', 'b'] : ['c']));
    },
    ca.issue(['DNS:origin.test']),
  );
  const { dir, dataDir } = cli();
  writeFileSync(join(dir, 'ca.pem'), ca.cert);
  const settings = { egress: { extraCa: [join(dir, 'ca.pem')], hosts: { 'origin.test': '127.0.0.1' } } };
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, 'glovebox.yaml'), JSON.stringify(settings));
  // The database is of the instance, which the first command makes.
  await cli().run(['policy', 'show']);
  const store = await openStore(join(dataDir, 'glovebox.db'));
  const { port } = origin;
  const allowances = [{ id: 'test', host: 'origin.test', cidrs: ['127.0.0.1/32'], ports: [port], reason: 'a test' }];
  const policy = egressPolicySchema.parse({ allowances });
  expect(await store.egressPolicies.set('default', policy, 0, 'test', Date.now())).toBe('set');
  await store.close();
});
afterAll(closeOrigins);

const source = (port: number): string => `import { defineNode } from '@glovebox/sdk';

interface Config { first?: number; other?: boolean; swallow?: boolean }

export default defineNode<Record<string, never>, Config, { items: string[] }>(async (ctx) => {
  const items: string[] = [];
  const host = ctx.config.other === true ? 'https://other.test' : 'https://origin.test:${port}';
  let next: string | undefined = \`/items?page=\${ctx.config.first ?? 1}\`;
  while (next !== undefined) {
    try {
      const response: Response = await ctx.fetch(host + next, { headers: { authorization: 'Bearer SECRET-1' } });
      items.push(...((await response.json()) as string[]));
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    } catch (error) {
      if (ctx.config.swallow !== true) throw error;
      next = undefined;
    }
  }
  return { items };
});
`;

const test = `import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';

const http = JSON.parse(readFileSync(new URL('../fixtures/pages.cassette.json', import.meta.url), 'utf8'));

test('reads both pages', async () => {
  const result = await runNode(node, { input: {}, http });
  assert.deepEqual(result.ok && result.output, { items: ['a', 'b', 'c'] });
  assert.deepEqual(result.requests.map(({ status }) => status), [200, 200]);
});

test('fails where a page is not there', async () => {
  const result = await runNode(node, { input: {}, config: { first: 7 }, http });
  assert.equal(!result.ok && result.error.code, 'CASSETTE_MISS');
});
`;

const fixture = (expected: object, config: object = {}, http: string | null = 'pages'): string =>
  JSON.stringify({ input: {}, config, ...(http === null ? {} : { http }), expect: expected });
const items = { output: { items: ['a', 'b', 'c'] } };

/** A package that pages; its cassette is yet to be recorded. */
function write(id: string, files: { [path: string]: string } = {}): string {
  const dir = join(cli().dir, id);
  const { port } = origin;
  const rules = [{ host: 'origin.test', port, methods: ['GET'], paths: ['/items'] }];
  const all: { [path: string]: string } = {
    'node.json': JSON.stringify({
      schemaVersion: 1,
      id,
      title: 'Reads pages',
      input: { type: 'object', additionalProperties: false },
      config: { type: 'object' },
      output: { type: 'object' },
      sideEffect: 'read',
      capabilities: { http: { rules } },
    }),
    'package.json': JSON.stringify({
      name: id,
      version: '1.0.0',
      license: 'Apache-2.0',
      private: true,
      type: 'module',
    }),
    'src/index.ts': source(port),
    'test/pages.test.ts': test,
    'fixtures/basic.json': fixture(items),
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

const recorded = (dir: string): string => join(dir, 'fixtures/pages.cassette.json');

/** What a signed receipt says, as text. */
async function receiptOf(run: unknown): Promise<string> {
  const verified = await cli().run(['verify', run as string, '--json']);
  expect(verified.code).toBe(0);
  return JSON.stringify(verified.json());
}

describe('a node that asks an origin', () => {
  it('is recorded once, and then checked, run and tested with the origin gone', async () => {
    const dir = write('pager');
    const live = await cli().run(['node', 'run', dir, '--trial', '--record', 'pages', '--json']);
    expect({ code: live.code, stderr: live.stderr }).toEqual({ code: 0, stderr: '' });
    expect(live.json()).toMatchObject({
      output: items.output,
      cassette: { kind: 'recorded', file: recorded(dir), requests: 2 },
    });
    const text = readFileSync(recorded(dir), 'utf8');
    expect(text).not.toContain('SECRET');
    expect(readdirSync(join(dir, 'fixtures')).sort()).toEqual(['basic.json', 'pages.cassette.json']);

    const again = await cli().run(['node', 'run', dir, '--trial', '--record', 'pages', '--json']);
    expect({ code: again.code, error: again.json().error?.code }).toEqual({ code: 2, error: 'ALREADY_EXISTS' });
    const forced = await cli().run([
      'node',
      'run',
      dir,
      '--trial',
      '--fixture',
      'basic',
      '--record',
      'pages',
      '--force',
      '--json',
    ]);
    expect(forced.json()).toMatchObject({ cassette: { kind: 'recorded' }, fixture: { matches: true } });

    const seen = origin.seen.length;
    const offline = await cli().run(['node', 'run', dir, '--trial', '--fixture', 'basic', '--json']);
    expect(offline.json()).toMatchObject({
      output: items.output,
      cassette: { kind: 'replayed', findings: [] },
      fixture: { name: 'basic', matches: true },
    });
    expect(await receiptOf(offline.json().run)).toContain('"source":"cassette"');
    expect(await receiptOf(live.json().run)).not.toContain('"source"');
    writeFileSync(join(dir, 'fixtures/denied.json'), fixture({ error: 'EGRESS_DENIED' }, { other: true }));
    const validated = await cli().run(['node', 'validate', dir, '--json']);
    expect(validated.json()).toMatchObject({ findings: [], state: 'passed' });
    expect(origin.seen.length).toBe(seen);

    const log = await cli().run(['egress', 'log', '--run', offline.json().run as string, '--json']);
    expect(JSON.stringify(log.json())).not.toContain('origin.test');
    const liveLog = await cli().run(['egress', 'log', '--run', live.json().run as string, '--json']);
    expect(JSON.stringify(liveLog.json())).toContain('origin.test');
  });

  it('writes nothing where the run fails', async () => {
    const dir = write('failing');
    const run = await cli().run([
      'node',
      'run',
      dir,
      '--trial',
      '--record',
      'pages',
      '--config',
      '{"other":true}',
      '--json',
    ]);
    expect({ code: run.code, ...run.json() }).toMatchObject({
      code: 1,
      error: { code: 'EGRESS_DENIED' },
      cassette: { kind: 'not-recorded', error: { code: 'CASSETTE_INCOMPLETE' } },
    });
    expect(readdirSync(join(dir, 'fixtures'))).toEqual(['basic.json']);
  });

  it('fails a fixture that asks for what was not recorded, also where it catches the error, and warns of what is never asked for', async () => {
    const good = write('unsure');
    await cli().run(['node', 'run', good, '--trial', '--record', 'pages', '--config', '{"first":2}']);
    writeFileSync(join(good, 'test/pages.test.ts'), '');
    writeFileSync(join(good, 'fixtures/basic.json'), fixture({ output: { items: ['c'] } }, { first: 2 }));
    writeFileSync(join(good, 'fixtures/missing.json'), fixture({ output: { items: [] } }, { swallow: true }));
    writeFileSync(join(good, 'fixtures/without.json'), fixture({ error: 'CASSETTE_MISS' }, {}, null));
    const failed = await cli().run(['node', 'validate', good, '--json']);
    const rules = (failed.json().findings as { rule: string; check: string; file: string; path: string }[])
      .filter(({ check }) => check === 'fixtures')
      .map(({ rule, file, path }) => `${rule} ${file} ${path}`);
    expect(rules.sort()).toEqual(['CASSETTE_MISS fixtures/missing.json /http', 'CASSETTE_MISS fixtures/without.json ']);
    const run = await cli().run(['node', 'run', good, '--trial', '--fixture', 'missing', '--json']);
    expect({ code: run.code, ...run.json() }).toMatchObject({
      code: 1,
      state: 'SUCCEEDED',
      fixture: { matches: false, missed: 1 },
    });

    const unused = write('unused');
    await cli().run(['node', 'run', unused, '--trial', '--record', 'pages']);
    writeFileSync(join(unused, 'fixtures/basic.json'), fixture({ output: { items: ['c'] } }, { first: 2 }));
    const warned = await cli().run(['node', 'validate', unused, '--json']);
    expect(warned.json()).toMatchObject({
      state: 'passed',
      findings: [
        {
          rule: 'CASSETTE_UNUSED',
          severity: 'warning',
          file: 'fixtures/pages.cassette.json',
          line: expect.any(Number),
        },
      ],
    });
  });

  it('is told of a cassette that is none, where it is', async () => {
    const dir = write('broken', {
      'fixtures/pages.cassette.json': '{"schema":"glovebox.cassette/1",\n"entries":[{}]}',
    });
    const run = await cli().run(['node', 'run', dir, '--trial', '--fixture', 'basic', '--json']);
    expect({ code: run.code, error: run.json().error }).toMatchObject({
      code: 2,
      error: {
        code: 'CASSETTE_INVALID',
        place: { file: 'fixtures/pages.cassette.json', path: '/entries/0/request', line: 2 },
      },
    });
  });
});
