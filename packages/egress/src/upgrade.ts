import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { DialRequest, DialUpgrade } from './api.ts';
import { watchChatter } from './chatter.ts';
import type { DialConnection } from './dial-connection.ts';
import { maxInterimAnswers } from './dial-exchange.ts';
import { dialFailure, toDialFailure } from './dial-failure.ts';
import { requestHeaders } from './dial-request-headers.ts';
import { answerHeaders, type RawHeaders } from './response-headers.ts';
import type { Watch } from './timeouts.ts';

export type UpgradeRequest = Omit<DialRequest, 'body' | 'retries' | 'method'>;

/** RFC 6455, section 1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/**
 * Ask for WebSocket (RFC 6455) on a fresh connection over HTTP/1.1. The caller brings the `sec-websocket-*` headers.
 *
 * @returns when the origin has agreed. From then on the watch is over: silence is for whoever speaks on the socket to judge.
 * @throws GloveboxError; for any answer but 101 `EGRESS_FAILED` (`PROTOCOL_ERROR`) with `status` in its details.
 */
export function upgradeConnection(
  connection: DialConnection,
  request: UpgradeRequest,
  watch: Watch,
): Promise<DialUpgrade> {
  const { target, fence } = request;
  const origin = `${target.scheme}://${target.authority}`;
  return new Promise((resolve, reject) => {
    let interimAnswers = 0;
    const settle = (): void => {
      watch.signal.removeEventListener('abort', onAbort);
      stopChatter();
    };
    const fail = (error: unknown): void => {
      settle();
      connection.kill();
      reject(toDialFailure(error, origin, 'waiting'));
    };
    const onAbort = (): void => fail(watch.signal.reason);
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        try {
          watch.signal.throwIfAborted();
          fence();
        } catch (error) {
          fail(error);
          controller.abort(error as Error);
          return;
        }
        watch.enter('headers');
      },
      onResponseStart(_controller, status) {
        if (status < 200 && ++interimAnswers <= maxInterimAnswers) return;
        const text = `${origin}: it answered ${status} when it was asked for a WebSocket.`;
        fail(dialFailure('PROTOCOL_ERROR', text, { status }));
      },
      onRequestUpgrade(_controller, status, headers) {
        if (!isAgreed(status, headers, request))
          return fail(dialFailure('PROTOCOL_ERROR', `${origin}: it agreed to something else than a WebSocket.`));
        settle();
        watch.stop();
        const { socket, address } = connection.link;
        resolve({ status, headers: { ...answerHeaders(headers), upgrade: 'websocket' }, socket, address });
      },
      onResponseError: (_controller, error) => fail(error),
    };
    const stopChatter = watchChatter(
      connection.link.socket,
      () => 0,
      () => fail(dialFailure('PROTOCOL_ERROR', `${origin}: it sends what is no answer.`)),
    );
    watch.signal.addEventListener('abort', onAbort, { once: true });
    if (watch.signal.aborted) return onAbort();
    try {
      connection.dispatch(
        {
          path: `${target.path}${target.query}`,
          method: 'GET',
          upgrade: 'websocket',
          headers: requestHeaders({ ...request, method: 'GET', body: undefined }, 'narrow'),
        },
        handler,
      );
    } catch (error) {
      fail(error);
    }
  });
}

/** By the key that was sent: what merely echoes, or answers everybody the same, has not agreed. */
function isAgreed(status: number, headers: RawHeaders, request: UpgradeRequest): boolean {
  const key = request.headers['sec-websocket-key'];
  const accept = createHash('sha1').update(`${key}${acceptSuffix}`).digest('base64');
  return (
    status === 101 &&
    String(headers.upgrade).toLowerCase() === 'websocket' &&
    headers['sec-websocket-accept'] === accept
  );
}
