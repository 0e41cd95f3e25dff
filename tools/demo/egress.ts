import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultProject, egressPolicySchema, GloveboxError, type Json } from '@glovebox/contract';
import { type Engine, listEgress, runTrial, setEgressPolicy } from '@glovebox/engine';
import { readSnapshotDir } from '@glovebox/validate';
import type { Config } from '../../apps/cli/src/config.ts';
import { localActor, openLocalEngine, type Places } from '../../apps/cli/src/local-engine.ts';
import { selfSigned } from './certificate.ts';

/** The node declares the first and not the second. Both lead to one server, which hears whatever gets out. */
const declared = 'api.weather.test';
const undeclared = 'stats.collector.test';

interface Manifest {
  capabilities: { http: { rules: { host: string; port?: number; methods: string[]; paths: string[] }[] } };
}

export interface Requested {
  /** Whether what was declared got through, and nothing else left. */
  readonly held: boolean;
  readonly lines: readonly string[];
}

/**
 * Let a node ask a server on loopback, over TLS, for what it declares and for what it does not.
 *
 * @param manifest `as-it-is`; `declares-both`, to show that the server hears the second request where nothing holds it back.
 */
export async function askTwice(
  config: Config,
  places: Places,
  manifest: 'as-it-is' | 'declares-both',
): Promise<Requested> {
  const server = await openServer();
  const caFile = join(config.dataDir, 'demo-ca.pem');
  await writeFile(caFile, server.cert);
  const hosts = { [declared]: '127.0.0.1', [undeclared]: '127.0.0.1' };
  const { engine, close } = await openLocalEngine({ ...config, egress: { extraCa: [caFile], hosts } }, {}, places);
  try {
    await allowLoopback(engine, server.port);
    const result = await runTrial(engine, {
      project: defaultProject,
      actor: localActor(),
      files: await packageFor(server.port, manifest),
      inputText: JSON.stringify({ port: server.port }),
      configText: '{}',
    });
    if (result.state !== 'SUCCEEDED')
      throw new GloveboxError('INTERNAL', { message: `forecast ended ${result.state}: ${result.error?.message}` });
    const { upload } = result.output as { upload: { details?: { patch?: Json; hint?: string } } };
    return {
      held: server.heard.join() === `GET ${declared}`,
      lines: [
        ...(await recordLines(engine, result.run)),
        ...(upload.details?.patch === undefined ? [] : patchLines(upload.details.patch, upload.details.hint ?? '')),
        `The server that both names lead to heard: ${server.heard.join(', ')}`,
      ],
    };
  } finally {
    await close();
    server.close();
  }
}

/** On loopback, with a certificate that this demo's dialer alone trusts. */
async function openServer(): Promise<{ port: number; cert: string; heard: string[]; close(): void }> {
  const identity = selfSigned([declared, undeclared], Date.now());
  const heard: string[] = [];
  const server = createServer({ ...identity }, (request, response) => {
    heard.push(`${request.method} ${request.headers.host?.replace(/:\d+$/, '')}`);
    request.resume();
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ degrees: -4 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, cert: identity.cert, heard, close };
}

/** What an admin has to allow, for loopback is no public address. It lets nothing out that no manifest declares. */
async function allowLoopback(engine: Engine, port: number): Promise<void> {
  const allowances = [declared, undeclared].map((host, i) => ({
    id: `demo-${i}`,
    host,
    cidrs: ['127.0.0.1/32'],
    ports: [port],
    reason: 'the server of the demo',
  }));
  await setEgressPolicy(engine, {
    project: defaultProject,
    policy: egressPolicySchema.parse({ allowances }),
    expectedRevision: 0,
    widening: 'confirmed',
    actor: localActor(),
  });
}

/** The package, with the port of the server in its rules. */
async function packageFor(
  port: number,
  manifest: 'as-it-is' | 'declares-both',
): Promise<ReadonlyMap<string, Uint8Array>> {
  const snapshot = await readSnapshotDir(fileURLToPath(new URL('./nodes/forecast', import.meta.url)));
  if (!snapshot.ok) throw new GloveboxError('PACKAGE_INVALID', { message: snapshot.findings[0]?.message ?? '' });
  const json = JSON.parse(Buffer.from(snapshot.files.get('node.json') ?? '').toString()) as Manifest;
  const { rules } = json.capabilities.http;
  if (manifest === 'declares-both') rules.push({ host: undeclared, methods: ['POST'], paths: ['/**'] });
  for (const rule of rules) rule.port = port;
  return new Map(snapshot.files).set('node.json', Buffer.from(JSON.stringify(json, undefined, 2)));
}

/** What the host has on record, in the order in which it was asked. */
async function recordLines(engine: Engine, run: string): Promise<string[]> {
  const records = await listEgress(engine, { project: defaultProject, run });
  return records.toReversed().map(({ method, scheme, host, port, path, outcome, status, address, rule, reason }) => {
    const verdict = outcome === 'denied' ? 'denied ' : 'allowed';
    const came = outcome === 'denied' ? `${reason}; nothing was sent` : `${status} from ${address}, by ${rule}`;
    return `${verdict}  ${method.padEnd(4)} ${scheme}://${host}:${port}${path}  ${came}`;
  });
}

const patchLines = (patch: Json, hint: string): string[] => [
  ...hint.split('\n'),
  ...JSON.stringify(patch, undefined, 2)
    .split('\n')
    .map((line) => `  ${line}`),
];
