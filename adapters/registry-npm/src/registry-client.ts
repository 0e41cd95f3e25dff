import { setTimeout as sleep } from 'node:timers/promises';
import { GloveboxError } from '@glovebox/contract';
import type { NpmConfig } from './npm-config.ts';
import { agentOpener, ResponseTooLong } from './registry-agent.ts';

export interface RegistryLimits {
  /** The longest answer that is taken, unpacked. */
  responseBytes: number;
  /** How long a registry may be silent. */
  idleMs: number;
  /** How long one file may take, with every attempt and pause. */
  totalMs: number;
  /** Pauses before the second, third … attempt. */
  retryDelaysMs: readonly number[];
  /** The longest that a registry may ask us to wait with Retry-After; where it asks for more, we give up. */
  retryAfterMs: number;
}

export const defaultRegistryLimits: RegistryLimits = {
  // Of metadata too: that of all versions of a busy package is tens of megabytes.
  responseBytes: 64 * 1024 * 1024,
  idleMs: 30_000,
  totalMs: 180_000,
  retryDelaysMs: [250, 1000, 4000],
  retryAfterMs: 15_000,
};

interface RegistryRequest {
  what: string;
  accept: string;
  signal: AbortSignal | undefined;
}

export interface RegistryClient {
  /**
   * GET a path below a registry's URL.
   *
   * Goes again after network errors and answers 408, 429 and 5xx. Redirects are followed to the registry's own origin only.
   *
   * @param request `what` names the thing in errors; where `signal` is aborted, this rejects at once, with anything.
   * @returns undefined when the registry has no such thing (404, 410).
   * @throws GloveboxError `REGISTRY_UNAVAILABLE`, `DEPENDENCY_REFUSED` when the answer is longer than `responseBytes`.
   */
  get(registry: URL, path: string, request: RegistryRequest): Promise<Uint8Array | undefined>;
}

type Outcome =
  | { kind: 'found'; bytes: Uint8Array }
  | { kind: 'absent' }
  | { kind: 'refused'; error: GloveboxError }
  | { kind: 'failed'; reason: string; retryAfterMs?: number };

type Target = RegistryRequest & { registry: URL; url: string };

export function createRegistryClient(config: NpmConfig, limits: RegistryLimits): RegistryClient {
  const openAgent = agentOpener(config, limits.responseBytes);

  async function attempt(target: Target, until: AbortSignal): Promise<Outcome> {
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(), limits.idleMs);
    try {
      const { default: fetchFrom } = await import('npm-registry-fetch');
      const agent = await openAgent(target.registry);
      const response = await fetchFrom(target.url, {
        ...config.credentials,
        agent: (url) => {
          // Redirects come through here too. To another origin they could carry credentials away (a change of port or
          // protocol keeps them), or make this machine talk to a host inside its network.
          if (url.origin !== target.registry.origin) throw redirected(target);
          return agent;
        },
        headers: { accept: target.accept },
        retry: { retries: 0 },
        timeout: limits.idleMs,
        signal: AbortSignal.any([idle.signal, until]),
      });
      return { kind: 'found', bytes: await collect(response.body, limits.responseBytes, () => timer.refresh()) };
    } catch (error) {
      if (idle.signal.aborted) return { kind: 'failed', reason: `it was silent for ${limits.idleMs} ms` };
      return outcomeOf(error, target, limits);
    } finally {
      clearTimeout(timer);
      // Whatever is still coming in, such as the body of a redirect, is not wanted.
      idle.abort();
    }
  }

  return {
    async get(registry, path, request) {
      const target: Target = { ...request, registry, url: new URL(path, registry).href };
      const total = AbortSignal.timeout(limits.totalMs);
      const until = target.signal === undefined ? total : AbortSignal.any([total, target.signal]);
      for (let tried = 0; ; tried++) {
        const outcome = await attempt(target, until);
        target.signal?.throwIfAborted();
        if (outcome.kind === 'found') return outcome.bytes;
        if (outcome.kind === 'absent') return undefined;
        if (outcome.kind === 'refused') throw outcome.error;
        const delayMs = Math.max(limits.retryDelaysMs[tried] ?? Number.POSITIVE_INFINITY, outcome.retryAfterMs ?? 0);
        const patient = delayMs <= limits.retryAfterMs;
        if (total.aborted || !patient)
          throw unavailable(target, total.aborted ? `it took longer than ${limits.totalMs} ms` : outcome.reason);
        await sleep(delayMs, undefined, { signal: until }).catch(() => {});
      }
    },
  };
}

async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number, onBytes: () => void): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    onBytes();
    sizeBytes += chunk.byteLength;
    // A short packed body may become a long one.
    if (sizeBytes > maxBytes) throw new ResponseTooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Messages of the libraries hold whole URLs, which may hold a password, and text of the registry: only codes are taken. */
function outcomeOf(thrown: unknown, target: Target, limits: RegistryLimits): Outcome {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 4; error = error.cause, depth++) {
    if (error instanceof GloveboxError) return { kind: 'refused', error };
    if (error instanceof ResponseTooLong) return { kind: 'refused', error: tooLong(target, limits.responseBytes) };
  }
  const { statusCode, headers, code, type, details } = thrown as {
    statusCode?: number;
    headers?: Record<string, string[]>;
    code?: string;
    type?: string;
    details?: { code?: string; reason?: string };
  };
  // The library puts what the dialer's error has into one of its own.
  const named = details?.code ?? details?.reason ?? code ?? type;
  if (statusCode === undefined) return { kind: 'failed', reason: named ?? 'the connection broke off' };
  if (statusCode === 404 || statusCode === 410) return { kind: 'absent' };
  const reason = `it answered ${statusCode}`;
  if (statusCode === 408 || statusCode === 429 || statusCode >= 500) {
    return { kind: 'failed', reason, ...retryAfter(headers?.['retry-after']?.[0]) };
  }
  const hint =
    statusCode === 401 || statusCode === 403 ? 'Check the token for it in your .npmrc, or run npm login.' : undefined;
  return { kind: 'refused', error: unavailable(target, reason, hint) };
}

/** RFC 9110, 10.2.3: seconds, or a date. */
function retryAfter(text: string | undefined): { retryAfterMs?: number } {
  if (text === undefined) return {};
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.max(0, ms) };
}

function unavailable(target: Target, reason: string, hint?: string): GloveboxError {
  return new GloveboxError('REGISTRY_UNAVAILABLE', {
    message: `The registry ${target.registry.origin} did not give ${target.what}: ${reason}.`,
    ...(hint === undefined ? {} : { hint }),
  });
}

const redirected = (target: Target): GloveboxError =>
  unavailable(
    target,
    'it redirects to another origin, which is not followed',
    'Configure the registry that has the files itself.',
  );

const tooLong = (target: Target, maxBytes: number): GloveboxError =>
  new GloveboxError('DEPENDENCY_REFUSED', {
    message: `What the registry ${target.registry.origin} gives for ${target.what} is over the limit of ${maxBytes} bytes.`,
  });
