import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { egressPolicySchema } from '@glovebox/contract';
import { openStore } from '@glovebox/store-sqlite';
import { afterAll, beforeAll, expect } from 'vitest';
import { makeCa } from '../../packages/egress/test/ca.ts';
import { useCli } from '../support/use-cli.ts';
import { githubService } from './origins/github.ts';
import { googleStorage, googleTokens } from './origins/google.ts';
import { freeAddress, openSite, openUpgrades, type Service, type Site } from './origins/listen.ts';
import { openaiService } from './origins/openai.ts';
import { plainService } from './origins/plain.ts';
import { s3Service } from './origins/s3.ts';
import { stripeService } from './origins/stripe.ts';
import { echoMessages } from './origins/web-socket.ts';

const nodes = fileURLToPath(new URL('nodes', import.meta.url));
const socketHost = 'stream.compat.test';

export interface LibraryRun {
  code: number | null;
  output: unknown;
  error: { code: string; message: string; details?: unknown } | null;
  /** What the host has on record of its requests, in their order. */
  records: readonly { outcome: string; reason: string | null; protocol: string | null; host: string }[];
  /** How many requests of it reached an origin. */
  arrived: number;
}

/**
 * Runs the nodes of this directory by the CLI, each in a cell, with the dependencies of its lockfile. The hosts that they know by the
 * names that the world has for them are servers of this process, over TLS by a CA that only the dialer is told of.
 */
export function useLibraries(): (name: string, asked?: { denied: true }) => Promise<LibraryRun> {
  const cli = useCli();
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const services: { [host: string]: Service } = {
    'api.compat.test': plainService(),
    'api.github.com': githubService,
    'api.stripe.com': stripeService(),
    'api.openai.com': openaiService(),
    'reports.s3.us-east-1.amazonaws.com': s3Service('secret-of-the-test'),
    'oauth2.googleapis.com': googleTokens(publicKey),
    'storage.googleapis.com': googleStorage,
  };
  let site: Site;
  let closeUpgrades: () => Promise<void>;

  beforeAll(async () => {
    const [siteAddress, socketAddress] = [freeAddress(), freeAddress()];
    const hosts = [...Object.keys(services), socketHost];
    const ca = makeCa();
    const identity = ca.issue(hosts.map((host) => `DNS:${host}`));
    site = await openSite(siteAddress, identity, services);
    closeUpgrades = await openUpgrades(socketAddress, identity, echoMessages);
    writeFileSync(join(cli().dir, 'ca.pem'), ca.cert);
    const places = hosts.map((host) => `    ${host}: ${host === socketHost ? socketAddress : siteAddress}\n`);
    writeFileSync(
      join(cli().dataDir, 'glovebox.yaml'),
      `egress:\n  extraCa: [${join(cli().dir, 'ca.pem')}]\n  hosts:\n${places.join('')}`,
      { mode: 0o600 },
    );
    const store = await openStore(join(cli().dataDir, 'glovebox.db'));
    await store.egressPolicies.set('default', loopbackAlone(hosts), 0, 'test', 1);
    await store.close();
  });
  afterAll(async () => {
    await site?.close();
    await closeUpgrades?.();
  });

  return async (name, asked) => {
    const before = site.arrived.length;
    const input = JSON.stringify({ ...asked, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) });
    const inputFile = join(cli().dir, `${name}.json`);
    writeFileSync(inputFile, input);
    const ran = await cli().run(['node', 'run', join(nodes, name), '--trial', '--json', '--input', `@${inputFile}`]);
    const { run, output, error } = ran.json() as unknown as Pick<LibraryRun, 'output' | 'error'> & { run?: string };
    if (run === undefined) throw new Error(`nothing ran: ${ran.stdout}${ran.stderr}`);
    const log = await cli().run(['egress', 'log', '--run', run, '--limit', '200', '--json']);
    const { records } = log.json() as unknown as Pick<LibraryRun, 'records'>;
    const arrived = site.arrived.slice(before);
    // What nodes ask of the broker is none of an origin's business.
    expect(
      arrived.flatMap(({ headers }) => Object.keys(headers)).filter((name) => name.startsWith('glovebox')),
    ).toEqual([]);
    return { code: ran.code, output, error, records: [...records].reverse(), arrived: arrived.length };
  };
}

/** Lets these hosts be on loopback, and nothing be anywhere else: whatever goes wrong here, it does not reach the hosts of that name. */
function loopbackAlone(hosts: readonly string[]) {
  const elsewhere = [
    '0.0.0.0/2',
    '64.0.0.0/3',
    '96.0.0.0/4',
    '112.0.0.0/5',
    '120.0.0.0/6',
    '124.0.0.0/7',
    '126.0.0.0/8',
    '128.0.0.0/1',
    '::/0',
  ];
  const allowances = hosts.map((host, n) => ({
    id: `host-${n}`,
    host,
    cidrs: ['127.0.0.0/8'],
    ports: [80, 443],
    reason: 'a test',
  }));
  const denials = elsewhere.map((cidr, n) => ({ id: `block-${n}`, cidr, reason: 'a test' }));
  return egressPolicySchema.parse({ allowances, denials });
}
