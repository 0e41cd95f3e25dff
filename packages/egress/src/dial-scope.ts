import { setTimeout as sleep } from 'node:timers/promises';
import type { DialRequest, DialResponse, DialScope, DialUpgrade, Policy } from './api.ts';
import { decodeBody, readEncodings } from './decode-body.ts';
import { DialConnection } from './dial-connection.ts';
import { type ConnectionChoice, type ConnectionPlace, DialConnections } from './dial-connections.ts';
import { type Exchange, exchange } from './dial-exchange.ts';
import { dialFailure, reasonOf, toDialFailure } from './dial-failure.ts';
import { openDialSockets, scopeEnded } from './dial-sockets.ts';
import { answerHeaders, type RawHeaders, withoutEncoding } from './response-headers.ts';
import { isRepeatable, retryDelayMs, type Try } from './retry.ts';
import { type Watch, watchRequest } from './timeouts.ts';
import { type UpgradeRequest, upgradeConnection } from './upgrade.ts';
import { type ConnectMeans, vettedConnect } from './vetted-connect.ts';
import { isWide, type WideDecoders } from './wide-decoders.ts';

type Answered = Extract<Exchange, { kind: 'answered' }> & { readonly connection: DialConnection };
type Failed = Extract<Exchange, { kind: 'failed' }>;

export class ConnectionScope implements DialScope {
  readonly #means: ConnectMeans;
  readonly #policy: Pick<Policy, 'judgeAddress'>;
  readonly #connections = new DialConnections();
  readonly #sockets = openDialSockets();
  readonly #ended = new AbortController();

  constructor(means: ConnectMeans, policy: Pick<Policy, 'judgeAddress'>) {
    this.#means = means;
    this.#policy = policy;
  }

  async request(request: DialRequest): Promise<DialResponse> {
    const watch = this.#watch(request);
    try {
      const { answer, retried } = await this.#retrying(request, watch);
      void answer.over.then(watch.stop);
      return toResponse(answer, request, retried, this.#means.decoders);
    } catch (error) {
      watch.stop();
      throw toDialFailure(error, originOf(request), 'connecting');
    }
  }

  async upgrade(request: UpgradeRequest): Promise<DialUpgrade> {
    const watch = this.#watch(request);
    try {
      const connection = await this.#open(request, watch, ['http/1.1']);
      request.progress?.connected(connection.link.address, connection.link.protocol);
      const upgraded = await upgradeConnection(connection, request, watch);
      this.#tie(request.signal, connection);
      return upgraded;
    } catch (error) {
      watch.stop();
      throw toDialFailure(error, originOf(request), 'connecting');
    }
  }

  destroy(): void {
    // First, so that nothing that learns of the end can still send.
    this.#sockets.killAll();
    this.#ended.abort(scopeEnded());
    this.#connections.killAll();
  }

  #watch({ timeouts, signal, target }: UpgradeRequest): Watch {
    return watchRequest(timeouts, `${target.scheme}://${target.authority}`, [signal, this.#ended.signal]);
  }

  async #retrying(request: DialRequest, watch: Watch): Promise<{ answer: Answered; retried: number }> {
    for (let retried = 0; ; retried++) {
      const tried = await this.#try(request, watch);
      const delayMs = isRepeatable(request)
        ? retryDelayMs(toTry(tried), {
            retried,
            retries: request.retries,
            leftMs: watch.leftMs,
            nowMs: Date.now(),
            random: Math.random(),
          })
        : undefined;
      if (watch.signal.aborted) throw watch.signal.reason;
      if (delayMs === undefined || request.progress?.mayRetry() === false) {
        if (tried.kind === 'failed') throw tried.error;
        return { answer: tried, retried };
      }
      if (tried.kind === 'answered') tried.body.cancel();
      watch.enter('reader');
      await sleep(delayMs, undefined, { signal: watch.signal }).catch(() => {
        throw watch.signal.reason;
      });
    }
  }

  /**
   * One try, as whoever counts them sees it. A connection that was kept may have been closed by the other side just now: what
   * could not be sent on it, or is safe and got no answer, goes once more, on a fresh one.
   */
  async #try(request: DialRequest, watch: Watch): Promise<Answered | Failed> {
    const first = await this.#exchange(request, watch, 'any');
    if (first.kind === 'answered' || watch.signal.aborted) return first;
    const isLost = first.isReused && isRepeatable(request) && reasonOf(first.error) === 'CONNECTION_LOST';
    return first.stage === 'unsent' || isLost ? this.#exchange(request, watch, 'fresh') : first;
  }

  async #exchange(
    request: DialRequest,
    watch: Watch,
    choice: ConnectionChoice,
  ): Promise<Answered | (Failed & { isReused: boolean })> {
    let connection: DialConnection;
    try {
      connection = await this.#acquire(request, watch, choice);
    } catch (error) {
      const failure = toDialFailure(error, originOf(request), 'connecting');
      return { kind: 'failed', stage: 'sent', error: failure, isReused: false };
    }
    request.progress?.connected(connection.link.address, connection.link.protocol);
    const isReused = connection.used;
    const done = await exchange(connection, request, watch, this.#means.decoders);
    return done.kind === 'answered' ? { ...done, connection } : { ...done, isReused };
  }

  #acquire(request: DialRequest, watch: Watch, choice: ConnectionChoice): Promise<DialConnection> {
    watch.enter('connect');
    request.fence();
    const open = (): Promise<DialConnection> => this.#open(request, watch, protocolsOf(request));
    return this.#connections.acquire(placeOf(request), choice, open, watch.signal);
  }

  async #open(
    request: UpgradeRequest,
    watch: Watch,
    protocols: readonly ('h2' | 'http/1.1')[],
  ): Promise<DialConnection> {
    const { target, allowances, fence } = request;
    watch.enter('connect');
    fence();
    const link = await vettedConnect(this.#means, {
      route: { target, allowances },
      policy: this.#policy,
      sockets: this.#sockets,
      protocols,
      fence,
      signal: watch.signal,
    });
    return DialConnection.open(link, originOf(request));
  }

  /** Whoever gives the request up gives up the connection that came of it. */
  #tie(signal: AbortSignal, { link }: DialConnection): void {
    const onAbort = (): void => link.kill();
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    link.socket.once('close', () => signal.removeEventListener('abort', onAbort));
  }
}

const originOf = ({ target }: Pick<DialRequest, 'target'>): string => `${target.scheme}://${target.authority}`;

/** With the allowances: a connection that was vetted under one is not for a request without it. */
const placeOf = (request: DialRequest): ConnectionPlace => {
  const { target, allowances } = request;
  const protocols = protocolsOf(request);
  return {
    key: JSON.stringify([target.scheme, target.host, target.port, allowances.map(({ id }) => id).sort(), protocols]),
    protocol: protocols.includes('h2') ? undefined : 'h1',
  };
};

/**
 * Bodies go by HTTP/1.1. Where one over HTTP/2 is given up while it waits for room, Node.js 26 may forget to reset its stream, and
 * writes empty frames of it when there is room again: for ever, in one step, until the memory of the host is used up.
 *
 * HTTP/2 without TLS has no way to be agreed on.
 */
const protocolsOf = ({ target, body }: DialRequest): readonly ('h2' | 'http/1.1')[] =>
  target.scheme === 'https' && body === undefined ? ['h2', 'http/1.1'] : ['http/1.1'];

function toTry(tried: Answered | Failed): Try {
  if (tried.kind === 'failed') return { kind: 'failed', reason: reasonOf(tried.error) };
  return { kind: 'answered', status: tried.status, retryAfter: answerHeaders(tried.headers)['retry-after'] };
}

function toResponse(answer: Answered, request: DialRequest, retried: number, decoders: WideDecoders): DialResponse {
  const { status, connection, body } = answer;
  const { address, protocol } = connection.link;
  const origin = originOf(request);
  const headers = answerHeaders(answer.headers);
  try {
    refuseOtherTransferCodings(answer.headers, origin);
    const encodings = readEncodings(headers['content-encoding'], origin);
    const isEmpty = request.method === 'HEAD' || status === 204 || status === 304;
    if (!isEmpty && answer.codings === 'narrow' && encodings.some(isWide))
      throw dialFailure('ENCODING_REFUSED', `${origin}: it answered with an encoding that it was not asked for.`);
    // The part of something packed cannot be unpacked.
    if (status === 206 && encodings.length > 0)
      throw dialFailure('ENCODING_REFUSED', `${origin}: it answered with a part of something packed.`);
    const head = { status, address, protocol, retries: retried };
    if (encodings.length === 0) return { ...head, headers, body };
    return { ...head, headers: withoutEncoding(headers), body: decodeBody(body, encodings, origin, decoders) };
  } catch (error) {
    body.cancel();
    throw error;
  }
}

/** They would be left on the body, and the header that tells of them is taken off: the node would take packed bytes for plain ones. */
function refuseOtherTransferCodings(headers: RawHeaders, origin: string): void {
  const value = headers['transfer-encoding'];
  if (value !== undefined && value.trim().toLowerCase() !== 'chunked')
    throw dialFailure('ENCODING_REFUSED', `${origin}: the body is transferred in an encoding that was not asked for.`);
}
