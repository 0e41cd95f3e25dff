import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { egressPolicySchema } from '@glovebox/contract';
import { openStore } from '@glovebox/store-sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeCa } from '../../packages/egress/test/ca.ts';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/**
 * The example as it is, with its host and port: the name leads to an address of loopback that no other server is likely to
 * have, and the certificate is one that this host's dialer alone trusts. GitHub hears nothing.
 */
const example = fileURLToPath(new URL('../../examples/github-issues-digest', import.meta.url));
const address = `127.${randomInt(1, 255)}.${randomInt(0, 255)}.${randomInt(1, 255)}`;
const cli = useCli();

interface Heard {
  path: string;
  page: string | null;
  host: string | undefined;
  serverName: string | false | null;
}

let server: Server;
let heard: Heard[] = [];
let limitsLeft = 0;

beforeAll(async () => {
  const ca = makeCa();
  server = createServer({ ...ca.issue(['DNS:api.github.com']) }, serve);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(443, address, resolve));
  const { dir, dataDir } = cli();
  writeFileSync(join(dir, 'ca.pem'), ca.cert);
  const settings = { egress: { extraCa: [join(dir, 'ca.pem')], hosts: { 'api.github.com': address } } };
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, 'glovebox.yaml'), JSON.stringify(settings));
  // The database is of the instance, which the first command makes.
  await cli().run(['policy', 'show']);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  heard = [];
  limitsLeft = 0;
});

/** Three pages as GitHub has them; `silent` never answers. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'https://api.github.com');
  const { servername } = request.socket as TLSSocket & { servername?: string | false };
  const page = searchParams.get('page');
  heard.push({ path: pathname, page, host: request.headers.host, serverName: servername ?? null });
  if (pathname.includes('silent')) return;
  if (limitsLeft-- > 0) return void response.writeHead(429, { 'retry-after': '1' }).end('{}');
  const number = Number(page ?? 1);
  if (number < 3)
    response.setHeader('link', `<https://api.github.com/repositories/7/issues?page=${number + 1}>; rel="next"`);
  const issue = { title: `On page ${number}`, user: { login: 'alice' }, updated_at: '2026-01-01T00:00:00Z' };
  const entries = [
    { ...issue, number: number * 10, labels: [{ name: 'bug' }] },
    { ...issue, number: number * 10 + 1, pull_request: {} },
  ];
  response.setHeader('content-type', 'application/json').end(JSON.stringify(entries));
}

async function allow(cidr: string): Promise<void> {
  const store = await openStore(join(cli().dataDir, 'glovebox.db'));
  const { revision } = await store.egressPolicies.get('default');
  const allowances = [{ id: 'github', host: 'api.github.com', cidrs: [cidr], ports: [443], reason: 'a test' }];
  const policy = egressPolicySchema.parse({ allowances });
  expect(await store.egressPolicies.set('default', policy, revision, 'test', Date.now())).toBe('set');
  await store.close();
}

async function digest(config: object) {
  const ran = await cli().run([
    'node',
    'run',
    example,
    '--trial',
    '--config',
    JSON.stringify({ owner: 'octo-org', repo: 'widgets', ...config }),
    '--json',
  ]);
  return { code: ran.code, ...(ran.json() as unknown as { run: string; output: unknown; error?: { code: string } }) };
}

describe('the digest of issues', () => {
  it('passes every check without a finding, and asks nobody for that', async () => {
    const validated = await cli().run(['node', 'validate', example, '--json']);
    expect(validated.json()).toMatchObject({ state: 'passed', findings: [] });
    expect(heard).toEqual([]);
  });

  it('asks nobody where the name leads to an address that no allowance has', async () => {
    await allow('127.255.255.255/32');
    const ran = await digest({});
    expect(ran).toMatchObject({ code: 1, error: { code: 'EGRESS_DENIED' } });
    expect(heard).toEqual([]);
  });

  it('reads all pages of an origin behind TLS by their links, waits where it is asked to, and writes its file', async () => {
    await allow(`${address}/32`);
    limitsLeft = 1;
    const ran = await digest({});
    expect(ran).toMatchObject({
      code: 0,
      output: {
        repository: 'octo-org/widgets',
        pages: 3,
        issues: 3,
        pullRequests: 3,
        labels: [{ name: 'bug', issues: 3 }],
        truncated: false,
        stoppedBy: 'end',
      },
    });
    const first = '/repos/octo-org/widgets/issues';
    const further = '/repositories/7/issues';
    const [host, serverName] = ['api.github.com', 'api.github.com'];
    expect(heard).toEqual([
      { path: first, page: null, host, serverName },
      { path: first, page: null, host, serverName },
      { path: further, page: '2', host, serverName },
      { path: further, page: '3', host, serverName },
    ]);
    const file = await cli().run(['run', 'file', ran.run, 'digest.md']);
    expect(file.stdout).toContain('3 open issues on 3 pages; 3 pull requests left out.');
    expect(file.stdout).toContain('- [#30](https://github.com/octo-org/widgets/issues/30) On page 3 (by alice,');
    const log = await cli().run(['egress', 'log', '--run', ran.run, '--json']);
    const { records } = log.json() as unknown as { records: object[] };
    expect(records).toHaveLength(4);
    for (const record of records) expect(record).toMatchObject({ outcome: 'done', rule: 'http.rules[0]', address });
  });

  it('gives what it has when its pages are used up', async () => {
    await allow(`${address}/32`);
    const { code, output } = await digest({ maxPages: 2 });
    expect({ code, output }).toMatchObject({
      code: 0,
      output: { pages: 2, issues: 2, truncated: true, stoppedBy: 'page-budget' },
    });
    expect(heard).toHaveLength(2);
  });

  it('gives up an origin that takes the request and never answers, when its own time is over', async () => {
    await allow(`${address}/32`);
    const ran = await digest({ repo: 'silent', maxSeconds: 2 });
    expect(ran).toMatchObject({ code: 1, error: { code: 'GITHUB_TOO_SLOW' } });
    expect(heard).toHaveLength(1);
  });
});
