import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { emptyZone, failure } from '../test/dialing.ts';
import { formatAddress } from './address.ts';
import { bootClockMs } from './boot-clock.ts';
import { fixedResolver, systemResolver, withShortNames } from './resolver.ts';
import { hostsFile } from './resolver-hosts.ts';

const never = new AbortController().signal;

describe('a table of hosts', () => {
  it('goes before the resolver after it, by the exact name', async () => {
    const after = fixedResolver({ 'b.test': ['::1'] }, emptyZone);
    const resolver = fixedResolver({ 'a.test': ['127.0.0.1', '::2'] }, after);
    const texts = async (host: string) => (await resolver.resolve(host, never)).map(formatAddress);
    expect(await texts('a.test')).toEqual(['127.0.0.1', '::2']);
    expect(await texts('b.test')).toEqual(['::1']);
    expect(await failure(resolver.resolve('sub.a.test', never))).toMatchObject({ reason: 'NAME_NOT_FOUND' });
    expect(await failure(resolver.resolve('constructor', never))).toMatchObject({ reason: 'NAME_NOT_FOUND' });
  });

  it.each(['0x7f.1', '127.1', 'a.test', '[::1]', 'fe80::1%lo', ''])('takes no %j for an address', (text) => {
    expect(() => fixedResolver({ 'a.test': [text] }, emptyZone)).toThrow(
      expect.objectContaining({ code: 'EGRESS_POLICY_INVALID' }),
    );
  });
});

describe('a host that an admin names', () => {
  const resolve = async (host: string) => (await withShortNames(emptyZone).resolve(host, never)).map(formatAddress);

  it('may have a name without a dot, as this host itself understands it', async () => {
    expect(await resolve('localhost')).toContain('127.0.0.1');
    expect(await failure(resolve('nobody-has-this'))).toMatchObject({ reason: 'NAME_NOT_FOUND' });
  });

  it('is looked up nowhere else where its name has a dot, or where it is known', async () => {
    expect(await failure(resolve('a.localhost'))).toMatchObject({ reason: 'NAME_NOT_FOUND' });
    const known = withShortNames(fixedResolver({ localhost: ['127.0.0.9'] }, emptyZone));
    expect((await known.resolve('localhost', never)).map(formatAddress)).toEqual(['127.0.0.9']);
  });
});

describe('a hosts file', () => {
  let dir: string;
  afterEach(() => {
    vi.useRealTimers();
    rmSync(dir, { recursive: true });
  });

  it('is read as it is, and again when it has changed', () => {
    dir = mkdtempSync(join(tmpdir(), 'glovebox-hosts-'));
    const path = join(dir, 'hosts');
    vi.useFakeTimers({ toFake: ['performance'] });
    const hosts = hostsFile(path);
    expect(hosts.find('one')).toEqual([]);
    writeFileSync(path, '# a comment\n127.0.0.1\tone Two.Test # three\n::1 one\nnot-an-address four\n');
    vi.advanceTimersByTime(1_100);
    expect(hosts.find('one').map(formatAddress)).toEqual(['127.0.0.1', '::1']);
    expect(hosts.find('two.test').map(formatAddress)).toEqual(['127.0.0.1']);
    expect([...hosts.find('three'), ...hosts.find('four'), ...hosts.find('__proto__')]).toEqual([]);
    writeFileSync(path, '127.0.0.2 one\n');
    utimesSync(path, 1, 1);
    vi.advanceTimersByTime(1_100);
    expect(hosts.find('one').map(formatAddress)).toEqual(['127.0.0.2']);
  });
});

describe('the names of this host', () => {
  it('are those of its hosts file, and localhost is itself', async () => {
    const addresses = await systemResolver().resolve('localhost', never);
    expect(addresses.map(formatAddress)).toContain('127.0.0.1');
    expect((await systemResolver().resolve('any.localhost', never)).map(formatAddress)).toEqual(['127.0.0.1']);
  });

  it('are not waited for once whoever asks has gone', async () => {
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(systemResolver().resolve('nobody.invalid', gone)).rejects.toThrow('gone');
  });
});

it('counts time from the boot of this host, in steps of ten milliseconds', async () => {
  const before = bootClockMs();
  await new Promise((resolve) => setTimeout(resolve, 60));
  const passed = bootClockMs() - before;
  expect(before).toBeGreaterThan(0);
  expect(before % 10).toBe(0);
  expect(passed).toBeGreaterThanOrEqual(50);
  expect(passed).toBeLessThan(5_000);
});
