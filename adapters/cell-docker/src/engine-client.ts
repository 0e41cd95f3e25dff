import type http from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { GloveboxError } from '@glovebox/contract';
import { addressText, type EngineAddress, handshakeFailure, requestsTo } from './engine-address.ts';

export interface EngineRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** Without the version of the API. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Sent as one plain JSON text with its length. */
  json?: unknown;
  /** Sent as it comes, in chunks: an image. */
  stream?: Readable;
  /** Statuses that are answers; any other is a refusal. */
  answers: readonly number[];
  /** From the call to the last byte of the answer; `null` where the answer is the end of something that may last. */
  deadlineMs: number | null;
  /** Gives the call up. */
  signal?: AbortSignal;
}

export interface EngineAnswer {
  status: number;
  text: string;
}

/**
 * What one engine is asked, over HTTP, as plain calls and one kind of raw connection. Nothing is retried, redirected or kept
 * open. An answer is text of bounded length; what it says is for the caller to check.
 */
export interface EngineClient {
  readonly address: string;
  /** @throws GloveboxError `ENGINE_UNREACHABLE`: no connection, broken off, no answer in time. `ENGINE_REFUSED`: any other answer. */
  call(request: EngineRequest): Promise<EngineAnswer>;
  /**
   * The raw connection that an engine makes of a request to attach. It may have failed by the time that anybody listens to it:
   * then it is destroyed, and says so. Throws like `call`.
   */
  hijack(path: string, query: Readonly<Record<string, string>>, deadlineMs: number): Promise<Socket>;
}

/** More than any answer that is read: a list of all containers of a host takes about 1 KiB each. */
const maxAnswerBytes = 8 * 1024 * 1024;

/** A peer that is gone without a word is noticed in the end, also where an answer may take any time. */
const keepAliveMs = 10_000;

export interface EngineClientOptions {
  /** Of an answer. */
  maxBytes?: number;
  /** Called when a call finds that the engine cannot be reached, or is gone in the middle of it. */
  onLost?: () => void;
}

export function createEngineClient(
  address: EngineAddress,
  { maxBytes = maxAnswerBytes, onLost }: EngineClientOptions = {},
): EngineClient {
  const open = requestsTo(address);
  const where = addressText(address);
  const tell = (thrown: unknown): never => {
    if (GloveboxError.is(thrown, 'ENGINE_UNREACHABLE') && !isOurDoing(thrown)) onLost?.();
    throw thrown;
  };

  const send = (request: EngineRequest): Promise<EngineAnswer> =>
    new Promise((resolve, reject) => {
      const outgoing = open({
        method: request.method,
        path: pathOf(request.path, request.query),
        headers: headersOf(request),
      });
      const settle = bound(outgoing, request, where, reject);
      outgoing.on('response', (response) => {
        readText(response, maxBytes).then(
          (text) => settle(() => resolve({ status: response.statusCode ?? 0, text })),
          (thrown: unknown) => settle(() => reject(clientError(thrown, where))),
        );
      });
      if (request.stream === undefined) outgoing.end(bodyOf(request));
      // An engine may answer, and refuse, before it has read all: then the answer is what counts.
      else pipeline(request.stream, outgoing, () => undefined);
    });

  return {
    address: where,

    async call(request) {
      const answer = await send(request).catch(tell);
      if (!request.answers.includes(answer.status)) throw refused(answer);
      return answer;
    },

    hijack: (path, query, deadlineMs) =>
      new Promise<Socket>((resolve, reject) => {
        const request: EngineRequest = { method: 'POST', path, query, answers: [101], deadlineMs };
        const outgoing = open({
          method: request.method,
          path: pathOf(path, query),
          headers: { ...headersOf(request), Connection: 'Upgrade', Upgrade: 'tcp' },
        });
        const settle = bound(outgoing, request, where, reject);
        outgoing.on('upgrade', (response, socket, head) => {
          // Nobody else listens until the streams are made of it: a reset before that would end this process. The socket
          // keeps its error, and whoever takes it looks for that.
          socket.on('error', () => undefined);
          if (head.length > 0) socket.unshift(head);
          settle(() => {
            if (response.statusCode === 101) return resolve(socket as Socket);
            socket.destroy();
            reject(refused({ status: response.statusCode ?? 0, text: '' }));
          });
        });
        outgoing.on('response', (response) => {
          readText(response, maxBytes).then(
            (text) => settle(() => reject(refused({ status: response.statusCode ?? 0, text }))),
            (thrown: unknown) => settle(() => reject(clientError(thrown, where))),
          );
        });
        outgoing.end();
      }).catch(tell),
  };
}

function pathOf(path: string, query: EngineRequest['query']): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? path : `${path}?${search}`;
}

function bodyOf({ json }: EngineRequest): string | undefined {
  return json === undefined ? undefined : JSON.stringify(json);
}

function headersOf(request: EngineRequest): http.OutgoingHttpHeaders {
  const body = bodyOf(request);
  return {
    Host: 'glovebox',
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...(request.stream === undefined ? {} : { 'Content-Type': 'application/x-tar' }),
    // Some engines demand the length of what is not there.
    ...(request.method === 'POST' && body === undefined && request.stream === undefined ? { 'Content-Length': 0 } : {}),
  };
}

/** Deadline, signal and every way in which a connection can fail, each once. @returns what settles the call first. */
function bound(
  outgoing: http.ClientRequest,
  { deadlineMs, signal }: EngineRequest,
  where: string,
  reject: (error: GloveboxError) => void,
): (how: () => void) => void {
  let settled = false;
  let isConnected = false;
  const settle = (how: () => void): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    how();
  };
  const fail = (thrown: unknown): void =>
    settle(() => {
      const error = clientError(thrown, where);
      reject(isConnected || error.code !== 'ENGINE_UNREACHABLE' ? error : neverAsked(error));
      outgoing.destroy();
    });
  const abort = (): void => fail(unreachable(where, 'the call was given up', undefined, ourDoing));
  const breakOff = (): void => fail(unreachable(where, 'the connection broke off'));
  const timer =
    deadlineMs === null
      ? undefined
      : setTimeout(
          () => fail(unreachable(where, `no answer within ${deadlineMs} ms`, undefined, ourDoing)),
          deadlineMs,
        );
  outgoing.on('error', fail);
  // Once there is an answer, how that ends is what counts.
  outgoing.on('response', () => outgoing.removeListener('close', breakOff));
  outgoing.on('close', breakOff);
  outgoing.on('socket', (socket) => {
    socket.setKeepAlive(true, keepAliveMs);
    isConnected = !socket.connecting && !socket.destroyed;
    socket.once('connect', () => {
      isConnected = true;
    });
  });
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  return settle;
}

async function readText(response: http.IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) response.destroy(tooLong(maxBytes));
    else chunks.push(chunk);
  });
  await finished(response);
  return Buffer.concat(chunks).toString('utf8');
}

const tooLong = (maxBytes: number): GloveboxError =>
  new GloveboxError('ENGINE_REFUSED', {
    message: `The answer of the container engine is longer than ${maxBytes} bytes.`,
  });

const unreachable = (
  where: string,
  why: string,
  cause?: unknown,
  details: Readonly<Record<string, boolean>> = {},
): GloveboxError =>
  new GloveboxError('ENGINE_UNREACHABLE', {
    message: `The container engine at ${where} cannot be reached: ${why}.`,
    cause,
    details,
  });

/** Of a call that we ended: the engine may be there as before. */
const ourDoing = { ended: true };

const isOurDoing = ({ details }: GloveboxError): boolean =>
  (details as { ended?: boolean } | undefined)?.ended === true;

const neverAsked = ({ message, cause }: GloveboxError): GloveboxError =>
  new GloveboxError('ENGINE_UNREACHABLE', { message, cause, details: { asked: false } });

/** Whether a call failed before there was a connection: then the engine has heard nothing of it, and does nothing about it. */
export const wasNeverAsked = (thrown: unknown): boolean =>
  GloveboxError.is(thrown, 'ENGINE_UNREACHABLE') &&
  (thrown.details as { asked?: boolean } | undefined)?.asked === false;

function clientError(thrown: unknown, where: string): GloveboxError {
  if (thrown instanceof GloveboxError) return thrown;
  const { code = '', message = String(thrown) } = (thrown ?? {}) as { code?: string; message?: string };
  // What the parser of HTTP does not take was said by something, and it is no engine.
  if (code.startsWith('HPE_')) {
    return new GloveboxError('ENGINE_REFUSED', {
      message: `What answers at ${where} does not speak the API of a container engine: ${code}.`,
      cause: thrown,
    });
  }
  return unreachable(where, handshakeFailure(code, message) ?? oneLine(message), thrown);
}

/** The engine's own words, as far as they can be shown to a person. */
function refused({ status, text }: EngineAnswer): GloveboxError {
  let said = text;
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') said = message;
  } catch {
    // Then it is not one of the API's errors, and is told as it is.
  }
  const words = oneLine(said);
  return new GloveboxError('ENGINE_REFUSED', {
    message: `The container engine answered ${status}${words === '' ? '.' : `: ${words}`}`,
    details: { status },
  });
}

const maxSaidCharacters = 400;

/** On one line, bounded, and without what a terminal would obey. */
export function oneLine(unsafeText: string): string {
  const line = unsafeText.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return line.length > maxSaidCharacters ? `${line.slice(0, maxSaidCharacters)}…` : line;
}

/** Whether a refusal was this one, such as 404. */
export const isRefusal = (thrown: unknown, status: number): boolean =>
  GloveboxError.is(thrown, 'ENGINE_REFUSED') && (thrown.details as { status?: number } | undefined)?.status === status;
