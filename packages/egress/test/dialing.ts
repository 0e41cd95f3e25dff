import { GloveboxError } from '@glovebox/contract';
import { expect } from 'vitest';
import { formatAddress, parseAddress } from '../src/address.ts';
import type { Dialer, DialerSettings, DialRequest, DialScope, Policy, Resolver, Target } from '../src/api.ts';
import { dialFailure } from '../src/dial-failure.ts';
import { createDialer } from '../src/dialer.ts';
import { fixedResolver } from '../src/resolver.ts';

/** Knows no name. */
export const emptyZone: Resolver = {
  resolve: (host) => Promise.reject(dialFailure('NAME_NOT_FOUND', `${host}: not in this test.`)),
};

/** Origins are on loopback: here that is what is public. */
export const loopbackOnly: Pick<Policy, 'judgeAddress'> = {
  judgeAddress: (_target, address) =>
    formatAddress(address).startsWith('127.')
      ? { kind: 'allowed' }
      : { kind: 'refused', reason: 'ADDRESS_NOT_PUBLIC', rule: null, why: 'it is not on loopback.' },
};

const dialers: Dialer[] = [];

/** For `afterEach`. */
export function closeDialers(): void {
  for (const dialer of dialers.splice(0)) dialer.destroy();
}

/** A dialer for which every name under `.test` is on loopback, unless the settings say otherwise. */
export function openDialer(settings: Partial<DialerSettings> = {}): Dialer {
  const dialer = createDialer({ resolver: loopbackZone, extraCa: [], proxy: undefined, ...settings });
  dialers.push(dialer);
  return dialer;
}

export const openScope = (settings: Partial<DialerSettings> = {}): DialScope =>
  openDialer(settings).scope('node', loopbackOnly);

const loopbackZone = fixedResolver({ 'origin.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] }, emptyZone);

export function targetOf(url: string): Target {
  const { protocol, hostname, port, host, pathname, search } = new URL(url);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  const bare = hostname.replace(/^\[|\]$/g, '');
  return {
    scheme,
    host: bare,
    literal: parseAddress(bare),
    port: Number(port) || (scheme === 'https' ? 443 : 80),
    path: pathname,
    query: search,
    authority: host,
  };
}

/** Long enough that none of them ends a test by chance. */
const timeouts = { connect: 20_000, headers: 20_000, idle: 20_000, total: 40_000 };

type Asked = Partial<Omit<DialRequest, 'target' | 'timeouts'>> & { timeouts?: Partial<DialRequest['timeouts']> };

export function ask(url: string, more: Asked = {}): DialRequest {
  return {
    target: targetOf(url),
    method: 'GET',
    headers: {},
    body: undefined,
    allowances: [],
    fence: () => {},
    signal: new AbortController().signal,
    retries: 0,
    ...more,
    timeouts: { ...timeouts, ...more.timeouts },
  };
}

export async function read(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export const readText = async (body: AsyncIterable<Uint8Array>): Promise<string> => (await read(body)).toString('utf8');

/** What a promise is rejected with; it has to be an error of ours. */
export async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; reason: unknown; error: GloveboxError }> {
  const error = await promise.then(
    () => expect.fail('it was not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GloveboxError)) throw new Error('it is no error of ours', { cause: error });
  return { code: error.code, reason: (error.details as { reason?: unknown } | undefined)?.reason, error };
}

export const reasonOf = async (promise: Promise<unknown>): Promise<unknown> => (await failure(promise)).reason;

export async function* bytes(chunk: Uint8Array, times: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < times; sent++) yield chunk;
}
