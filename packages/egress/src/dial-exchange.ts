import type { GloveboxError } from '@glovebox/contract';
import type { Dispatcher } from 'undici';
import type { DialRequest } from './api.ts';
import { watchChatter } from './chatter.ts';
import { AnswerBody, fencedBody } from './dial-body.ts';
import { ConnectionGone, type DialConnection, maxHeadBytes } from './dial-connection.ts';
import { dialFailure, toDialFailure } from './dial-failure.ts';
import { requestHeaders } from './dial-request-headers.ts';
import { headBytes, type RawHeaders } from './response-headers.ts';
import type { Watch } from './timeouts.ts';
import type { AskedCodings, WideDecoders } from './wide-decoders.ts';

/** Heads before the real one (1xx). Few servers send more than one; without a bound they never end. */
export const maxInterimAnswers = 16;

/** One try of a request on one connection. */
export type Exchange =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: RawHeaders;
      readonly body: AnswerBody;
      /** What it may be packed with. */
      readonly codings: AskedCodings;
      /** Resolves when the answer has come to its end, whichever that is. */
      readonly over: Promise<void>;
    }
  /** `unsent`: not a byte of it left, and nothing of its body was read. `sent`: no answer came. */
  | { readonly kind: 'failed'; readonly stage: 'unsent' | 'sent'; readonly error: GloveboxError };

/**
 * Send a request on a connection that was claimed for it, which is released when the answer has come to its end.
 *
 * @returns once the head of the answer is there, or will not come. Never throws; what goes wrong later, the body throws.
 */
export function exchange(
  connection: DialConnection,
  request: DialRequest,
  watch: Watch,
  decoders: WideDecoders,
): Promise<Exchange> {
  const { target, method, fence } = request;
  const { codings, settle } = decoders.ask();
  const origin = `${target.scheme}://${target.authority}`;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let failure: unknown;
    let stage: 'unsent' | 'sent' | 'answered' = 'unsent';
    let interimAnswers = 0;
    let bodyBytes = 0;
    let isOver = false;
    const over = Promise.withResolvers<void>();

    const body = new AnswerBody({
      pause() {
        controller?.pause();
        watch.enter('reader');
      },
      resume() {
        watch.enter('idle');
        controller?.resume();
      },
      cancel: () => giveUp(dialFailure('CONNECTION_LOST', `${origin}: the answer was not read to its end.`)),
    });

    /** The watch goes on: the caller may try again. */
    const finish = (): void => {
      isOver = true;
      settle();
      stopChatter();
      watch.signal.removeEventListener('abort', onAbort);
      watch.enter('reader');
      connection.release();
      over.resolve();
    };
    /** Whatever is known of why comes before what the connection says of it. */
    const fail = (thrown: unknown): void => {
      if (isOver) return;
      const isUnsent = stage === 'unsent' && thrown instanceof ConnectionGone;
      const error = toDialFailure(failure ?? thrown, origin, stage === 'answered' ? 'answered' : 'waiting');
      finish();
      if (stage === 'answered') body.fail(error);
      else resolve({ kind: 'failed', stage: isUnsent ? 'unsent' : 'sent', error });
    };
    const giveUp = (error: unknown): void => {
      failure ??= error;
      controller?.abort(failure as Error);
      // A request that waits in the client for its turn has no controller yet; it is stopped when it gets one.
      fail(failure);
      if (connection.link.protocol === 'h1') connection.kill();
    };
    const onAbort = (): void => giveUp(watch.signal.reason);

    const handler: Dispatcher.DispatchHandler = {
      // The head is written as soon as this returns, without anything in between.
      onRequestStart(started) {
        controller = started;
        try {
          if (failure !== undefined) throw failure;
          fence();
        } catch (error) {
          failure = error;
          started.abort(error as Error);
          return;
        }
        stage = 'sent';
        watch.enter(request.body === undefined ? 'headers' : 'upload');
      },
      onBodySent: () => watch.touch(),
      onRequestSent() {
        if (stage === 'sent') watch.enter('headers');
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) {
          if (++interimAnswers > maxInterimAnswers)
            giveUp(dialFailure('PROTOCOL_ERROR', `${origin}: too many heads came before the answer.`));
          return;
        }
        // HTTP/2 counts other bytes than these.
        if (headBytes(headers) > maxHeadBytes)
          return giveUp(dialFailure('HEADERS_TOO_LARGE', `${origin}: the head of the answer is too large.`));
        stage = 'answered';
        settle();
        watch.enter('idle');
        resolve({ kind: 'answered', status, headers, body, codings, over: over.promise });
      },
      onResponseData(_controller, chunk) {
        watch.touch();
        bodyBytes += chunk.byteLength;
        body.push(chunk);
      },
      onResponseEnd() {
        if (isOver) return;
        finish();
        body.end();
      },
      onResponseError: (_controller, error) => fail(error),
    };

    const { socket, protocol } = connection.link;
    const onChatter = (): void => giveUp(dialFailure('PROTOCOL_ERROR', `${origin}: it sends what is no answer.`));
    const stopChatter = protocol === 'h1' ? watchChatter(socket, () => bodyBytes, onChatter) : () => {};
    watch.signal.addEventListener('abort', onAbort, { once: true });
    if (watch.signal.aborted) return onAbort();
    try {
      connection.dispatch(
        {
          path: `${target.path}${target.query}`,
          method: method as Dispatcher.HttpMethod,
          headers: requestHeaders(request, codings),
          body: (request.body === undefined
            ? null
            : fencedBody(request.body, fence, () => isOver, declaredBytes(request.headers))) as never,
        },
        handler,
      );
    } catch (error) {
      fail(error);
    }
  });
}

/** What is no length is refused by the client, which reads this header too. */
function declaredBytes(headers: DialRequest['headers']): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}
