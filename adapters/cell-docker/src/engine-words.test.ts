import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEngineApi, isOlder } from './engine-api.ts';
import { createEngineClient } from './engine-client.ts';
import { describeVersion, readEngineFacts } from './engine-facts.ts';
import { requireClass } from './engines.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-engine-words-'));
const socketPath = join(home, 'engine');
const image = `sha256:${'a'.repeat(64)}`;

/** Clears a screen, sets a title, turns the direction of writing, begins a line. */
const terminal = '\u001b[2J\u001b]0;owned\u0007\u202e\r\n\u2028';
const version = {
  Version: '20.10.24',
  ApiVersion: '1.41',
  Arch: 'amd64',
  Os: 'linux',
  Components: [
    { Name: 'Engine', Version: '20.10.24' },
    { Name: 'runc', Version: '1.1.12' },
  ],
};
const info = {
  ID: 'one',
  Name: 'host',
  DockerRootDir: '/var/lib/docker',
  ...{ MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsPeriod: true, CpuCfsQuota: true },
  CgroupDriver: 'cgroupfs',
  OSType: 'linux',
  Architecture: 'x86_64',
  KernelVersion: '6.1',
  Runtimes: { runc: { path: 'runc' } },
  DefaultRuntime: 'runc',
  SecurityOptions: ['name=seccomp'],
};

/** What the engine answers, by the end of a path. */
let answers: Record<string, unknown>;
const server = http.createServer((request, response) => {
  const path = Object.keys(answers).find((end) => request.url?.endsWith(end)) ?? '';
  response.end(JSON.stringify(answers[path]));
});
beforeAll(async () => {
  server.listen(socketPath);
  await once(server, 'listening');
});
beforeEach(() => {
  answers = { '/version': version, '/info': info, [`/images/${image}/json`]: { Id: image } };
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

const api = () => createEngineApi(createEngineClient({ socketPath }), { callMs: 5_000, loadMs: 5_000 }, home);
/** Everything of a failure that a person gets to see. */
async function told(call: Promise<unknown>): Promise<string> {
  const thrown = await call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
  if (!GloveboxError.is(thrown)) throw thrown;
  const { code, message, hint = '' } = thrown.toData();
  expect(code).toMatch(/^(ENGINE_REFUSED|HOST_UNSUPPORTED)$/);
  return `${message} ${hint}`;
}
const plain = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;

describe('what an engine says of itself', () => {
  it('is told without what a terminal obeys, in receipts too', async () => {
    answers['/version'] = {
      ...version,
      Components: [
        { Name: 'Engine', Version: `20.10.24${terminal}` },
        { Name: 'runc', Version: `1.1.12${terminal}`, Details: { GitCommit: `1.1.12${terminal}` } },
      ],
    };
    answers['/info'] = { ...info, CgroupDriver: `cgroupfs${terminal}`, KernelVersion: `6.1${terminal}` };
    const facts = await readEngineFacts(api(), undefined);
    expect(describeVersion(facts)).toMatch(plain);
    expect(describeVersion(facts)).toContain('runc 1.1.12');
    expect(facts.info.CgroupDriver).toMatch(plain);
    expect(facts.info.KernelVersion).toMatch(plain);
  });

  it('is told as it is where it is plain', async () => {
    const facts = await readEngineFacts(api(), undefined);
    expect(facts).toMatchObject({ version, info });
    expect(describeVersion(facts)).toBe('docker 20.10.24, runc 1.1.12');
    expect(await api().findImage(image)).toBe(image);
  });

  it('is no class of cells by what a runtime is called, and no word for a runtime that it does not name', async () => {
    answers['/info'] = { ...info, Runtimes: { runc: { path: '/opt/other/runsc' } } };
    const facts = await readEngineFacts(api(), undefined);
    expect(facts.class).toBe('ns');
    expect(() => requireClass(facts, 'gvisor')).toThrow(
      expect.objectContaining({ code: 'CLASS_UNAVAILABLE' }) as Error,
    );
    expect(() => requireClass(facts, 'ns')).not.toThrow();
    expect(facts.programs.flatMap(({ open }) => open)).not.toEqual([]);
  });

  it.each<[string, string, object]>([
    ['a runtime', '/info', { ...info, Runtimes: { [`runc${terminal}`]: {} } }],
    ['the default runtime', '/info', { ...info, DefaultRuntime: `runc${terminal}` }],
    ['a processor', '/info', { ...info, Architecture: `vax${terminal}` }],
    ['a key where there should be a path', '/info', { ...info, Runtimes: { [`${terminal}`]: { path: 1 } } }],
    [
      'more runtimes than fit in a hint',
      '/info',
      { ...info, Runtimes: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${n}`, {}])) },
    ],
    ['a version', '/version', { ...version, ApiVersion: `1.41${terminal}` }],
    [
      'an old Podman',
      '/version',
      { ...version, Version: `4.2${terminal}`, Components: [{ Name: 'Podman Engine', Version: '4.2' }] },
    ],
  ])('is refused in plain words where it cannot be used: %s', async (_, path, answer) => {
    answers[path] = answer;
    const text = await told(readEngineFacts(api(), undefined));
    expect(text).toMatch(plain);
    expect(text.length).toBeLessThan(1_000);
  });

  it.each([
    ['4.2.9', true],
    ['4.x', true],
    ['', true],
    ['4.3.0-dev', false],
    ['5.0', false],
    ['10.0.0', false],
  ])('is an older version than 4.3 where it is %j: %s', (told, older) => {
    expect(isOlder(told, '4.3.0')).toBe(older);
  });

  it('is no id of an image unless it reads as one', async () => {
    answers[`/images/${image}/json`] = { Id: `sha256:${terminal}` };
    expect(await told(api().findImage(image))).toMatch(plain);
  });
});
