import { GloveboxError } from '@glovebox/contract/errors';
import {
  type BytesName,
  fromProblem,
  type JsonName,
  problemMediaType,
  problemSchema,
  type Route,
  type RouteBody,
  type RouteEvent,
  type RouteName,
  type RouteParams,
  type RouteQuery,
  type RouteResult,
  routes,
  type StreamName,
  successOf,
} from '@glovebox/contract/routes';
import type { z } from 'zod';
import { readEvents } from './event-stream.ts';
import type { ApiResponse, Fetch } from './fetch.ts';
import { urlOf } from './url.ts';

export interface ClientOptions {
  fetch: Fetch;
  /** Without a slash at its end. */
  baseUrl: string;
}

type Named<Name extends string, Value> = Value extends undefined
  ? { [K in Name]?: undefined }
  : Record<string, never> extends Value
    ? { [K in Name]?: Value }
    : { [K in Name]: Value };

/** What a route takes. What has no member, or only optional ones, may be left out. */
export type CallArgs<Name extends RouteName> = Named<'params', RouteParams<Name>> &
  Named<'query', RouteQuery<Name>> &
  Named<'body', RouteBody<Name>> & {
    /** Ends the call with `INTERRUPTED`, and what the server does for it. */
    signal?: AbortSignal;
  };

export type StreamArgs<Name extends StreamName> = CallArgs<Name> & {
  /** Asks the server to wind up what it does; the stream goes on to its end. Its reason is told where it is a text. */
  windUp?: AbortSignal;
};

/** An event of a stream. The last one of a stream that ends well is `result`. */
export type StreamEvent<Name extends StreamName> =
  | Exclude<RouteEvent<Name>, { event: 'accepted' }>
  | { event: 'result'; result: RouteResult<Name> };

/**
 * The API. Every method throws the GloveboxError that the server tells as a problem, `INTERRUPTED` for an aborted signal,
 * `RESPONSE_INVALID` for an answer that is none, and whatever `fetch` throws.
 */
export interface Client {
  call<Name extends JsonName>(name: Name, args: CallArgs<Name>): Promise<RouteResult<Name>>;
  /** Events as they come. To leave the loop before the end ends what the server does. */
  stream<Name extends StreamName>(name: Name, args: StreamArgs<Name>): AsyncGenerator<StreamEvent<Name>, void>;
  /** Bytes, not looked at. Whoever stops reading ends the transfer. */
  bytes<Name extends BytesName>(name: Name, args: CallArgs<Name>): Promise<AsyncIterable<Uint8Array>>;
}

interface LooseArgs {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  signal?: AbortSignal;
}

export function createClient(options: ClientOptions): Client {
  /** @returns an answer of success. */
  const send = async (name: RouteName, args: LooseArgs, accept: string): Promise<ApiResponse> => {
    const route: Route = routes[name];
    const { params = {}, query = {}, body, signal } = args;
    if (signal?.aborted) throw interrupted(signal);
    const response = await options
      .fetch(`${options.baseUrl}${urlOf(route.path, params, query)}`, {
        method: route.method,
        headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      })
      .catch((error: unknown) => {
        throw signal?.aborted ? interrupted(signal, error) : error;
      });
    if (response.status !== successOf(route).status) throw await problemOf(name, response);
    return response;
  };

  const call: Client['call'] = async (name, args) => {
    const response = await send(name, args as LooseArgs, 'application/json');
    return parseResult(name, await response.text());
  };

  return {
    call,
    async *stream(name, args) {
      const { windUp, ...rest } = args as LooseArgs & { windUp?: AbortSignal };
      const route: Route = routes[name];
      const own = new AbortController();
      const signal = rest.signal === undefined ? own.signal : AbortSignal.any([rest.signal, own.signal]);
      let cancel: (() => void) | undefined;
      try {
        const response = await send(name, { ...rest, signal }, 'text/event-stream');
        for await (const { event, data } of readEvents(response.body ?? [])) {
          if (event === 'result') {
            yield { event, result: parseResult(name, data) } as StreamEvent<typeof name>;
            return;
          }
          if (event === 'problem') throw fromProblem(parse(name, problemSchema, data));
          const told = parse(name, route.streams as z.ZodType<{ event: string; operation?: string }>, data);
          if (told.event !== 'accepted') {
            yield told as StreamEvent<typeof name>;
            continue;
          }
          if (windUp === undefined || cancel !== undefined) continue;
          cancel = () => {
            const params = { project: rest.params?.project ?? '', operation: told.operation ?? '' };
            const query = typeof windUp.reason === 'string' ? { reason: windUp.reason } : {};
            // Where it cannot even be asked to, it is ended.
            call('operations.cancel', { params, query }).catch((error: unknown) => own.abort(error));
          };
          if (windUp.aborted) cancel();
          else windUp.addEventListener('abort', cancel, { once: true });
        }
        throw new GloveboxError('RESPONSE_INVALID', { message: `The stream of ${name} broke off.` });
      } catch (error) {
        // To a caller that left, the end of the stream is no news.
        if (rest.signal?.aborted) throw interrupted(rest.signal, error);
        throw own.signal.aborted ? own.signal.reason : error;
      } finally {
        if (cancel !== undefined) windUp?.removeEventListener('abort', cancel);
      }
    },
    async bytes(name, args) {
      const response = await send(name, args as LooseArgs, '*/*');
      return response.body ?? emptyBody();
    },
  };
}

function parseResult<Name extends StreamName | JsonName>(name: Name, text: string): RouteResult<Name> {
  const { success } = successOf(routes[name]);
  if (success.kind !== 'json') throw new TypeError(`${name} answers bytes`);
  return parse(name, success.schema as z.ZodType<RouteResult<Name>>, text);
}

async function problemOf(name: RouteName, response: ApiResponse): Promise<GloveboxError> {
  if (response.headers.get('content-type')?.startsWith(problemMediaType) !== true) {
    return new GloveboxError('RESPONSE_INVALID', { message: `The answer of ${name} has status ${response.status}.` });
  }
  return fromProblem(parse(name, problemSchema, await response.text()));
}

function parse<Value>(name: RouteName, schema: z.ZodType<Value>, text: string): Value {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new GloveboxError('RESPONSE_INVALID', { message: `The answer of ${name} is not JSON.`, cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new GloveboxError('RESPONSE_INVALID', {
    message: `The answer of ${name} is not valid at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}.`,
  });
}

function interrupted(signal: AbortSignal, cause?: unknown): GloveboxError {
  return new GloveboxError('INTERRUPTED', { cause: cause ?? signal.reason });
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
