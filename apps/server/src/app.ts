import { type ErrorData, GloveboxError, toErrorData } from '@glovebox/contract';
import {
  type Role,
  type Route,
  type RouteName,
  routeNames,
  routes,
  successOf,
  toProblem,
} from '@glovebox/contract/routes';
import type { OpenParts } from '@glovebox/engine';
import { Hono } from 'hono/tiny';
import { EventQueue } from './event-queue.ts';
import type { Call, Parts, Principal } from './handler.ts';
import { handlers } from './handlers.ts';
import { Operations } from './operations.ts';
import { Reply } from './reply.ts';
import {
  type ApiRequest,
  acceptsEvents,
  readBody,
  readParams,
  readQuery,
  requireNoBody,
  requirePlainUrl,
} from './request.ts';

export type { Principal } from './handler.ts';

export interface AppOptions {
  /** The engine, by parts. */
  open: OpenParts;
  /** Who calls: in process, always the same. */
  principal: Principal;
  /** See Parts. */
  recover?: () => Promise<void>;
  /** Told of each defect of ours, with its stack, before the caller gets `INTERNAL` and nothing of its text. */
  onDefect?: (error: unknown) => void;
  projects?: readonly string[];
}

export interface App {
  /** For a listener, and for tests. */
  fetch(request: Request): Promise<Response>;
  /** The same without the classes of the web platform, for a client in this process. */
  inProcess(url: string, init: InProcessInit): Promise<Reply>;
  /** Resolves once no call is under way. A caller that left does not end at once what is done for it: a cell has to be seen dead. */
  settled(): Promise<void>;
}

export interface InProcessInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

/** The API over an engine: each route of the table with its handler, and nothing else. */
export function createApp(options: AppOptions): App {
  const operations = new Operations();
  const { open, recover = async () => undefined, projects = ['default'] } = options;
  const answerer: Answerer = { parts: { open, recover, operations, projects }, options };
  const hono = new Hono({ strict: true });
  for (const name of routeNames) {
    const { method, path } = routes[name];
    // A Reply is what Hono hands on untouched; `fetch` makes a Response of it.
    hono.on(method, path, (c) => answer(answerer, name, c.req.param(), c.req.raw as unknown as ApiRequest) as never);
  }
  const refuse = (error: unknown): never => problem(answerer, error) as never;
  hono.notFound(() => refuse(new GloveboxError('NOT_FOUND', { message: 'There is no such route.' })));
  hono.onError(refuse);
  const dispatch = async (request: ApiRequest): Promise<Reply> =>
    (await hono.fetch(request as unknown as Request)) as unknown as Reply;
  return {
    async fetch(request) {
      // Hono would make a Response of ours into another one; what there is to get there is to get by GET.
      if (request.method === 'HEAD') return refuseMethod(answerer).toResponse();
      return (await dispatch(request)).toResponse();
    },
    inProcess(url, { method, headers, body, signal }) {
      const get = (name: string): string | null => headers[name.toLowerCase()] ?? null;
      return dispatch({ url, method, headers: { get }, body: body ?? null, ...(signal ? { signal } : {}) });
    },
    settled: () => operations.settled(),
  };
}

interface Answerer {
  parts: Parts;
  options: AppOptions;
}

async function answer(
  answerer: Answerer,
  name: RouteName,
  unsafeParams: Record<string, string>,
  request: ApiRequest,
): Promise<Reply> {
  const { parts, options } = answerer;
  const route: Route = routes[name];
  try {
    requirePlainUrl(request);
    requireRole(options.principal, route.role);
    const params = readParams(route.params, unsafeParams);
    const project = typeof params.project === 'string' ? params.project : '';
    // Also for what another project has: its ids are nobody else's to know.
    if (project !== '' && !parts.projects.includes(project))
      throw new GloveboxError('NOT_FOUND', { message: `There is no project ${project}.` });
    const query = readQuery(route.query, request.url);
    const body = route.body === null ? await requireNoBody(request) : await readBody(route.body, request);
    const { name: actor, presence = 'attended' } = options.principal;
    const call = { params, query, body, actor, presence };
    const perform = handlers[name] as (call: unknown, parts: Parts) => Promise<unknown>;
    if (acceptsEvents(route, request))
      return stream(answerer, project, request, (more) => perform({ ...call, ...more }, parts));
    const result = await parts.operations.run(project, request.signal, ({ signal }) =>
      perform({ ...call, signal, streaming: false, tell: () => undefined, write: async () => undefined }, parts),
    );
    const { status, success } = successOf(route);
    return success.kind === 'json'
      ? Reply.json(status, result)
      : Reply.bytes(status, success.mediaType, result as AsyncIterable<Uint8Array>);
  } catch (error) {
    return problem(answerer, error);
  }
}

type Events = Pick<Call<'trials.run'>, 'signal' | 'streaming' | 'tell' | 'write'>;

/** The answer begins at once; what goes wrong from here on is its last event. */
function stream(
  answerer: Answerer,
  project: string,
  request: ApiRequest,
  perform: (events: Events) => Promise<unknown>,
): Reply {
  const left = new AbortController();
  const leave = (): void => left.abort();
  request.signal?.addEventListener('abort', leave, { once: true });
  if (request.signal?.aborted) leave();
  const queue = new EventQueue(leave);
  // A caller that is gone reads nothing more; what is done for it is wound up meanwhile.
  left.signal.addEventListener('abort', () => queue.end(), { once: true });
  answerer.parts.operations
    .run(project, left.signal, async ({ id, signal }) => {
      queue.push({ event: 'accepted', operation: id });
      return perform({
        signal,
        streaming: true,
        tell: (event) => queue.push(event),
        write: (event) => queue.write(event),
      });
    })
    .then(
      (result) => queue.end({ event: 'result', result }),
      (error: unknown) => queue.end({ event: 'problem', problem: toProblem(told(answerer, error)) }),
    )
    .finally(() => {
      // Held by the request until here: without it, a signal that follows another may be collected, and tell nothing.
      request.signal?.removeEventListener('abort', leave);
    });
  return Reply.stream(200, 'text/event-stream', queue);
}

function requireRole({ name, roles }: Principal, role: Role): void {
  if (!roles.includes(role)) throw new GloveboxError('ROLE_MISSING', { message: `${name} has not the role ${role}.` });
}

/** Of a defect, callers get the code alone: nobody knows what an unexpected exception has in its text. */
function told({ options }: Answerer, error: unknown): ErrorData {
  const data = toErrorData(error);
  if (data.code !== 'INTERNAL') return data;
  options.onDefect?.(error);
  return new GloveboxError('INTERNAL').toData();
}

const problem = (answerer: Answerer, error: unknown): Reply => Reply.problem(told(answerer, error));

const refuseMethod = (answerer: Answerer): Reply =>
  problem(answerer, new GloveboxError('NOT_FOUND', { message: 'There is no such route.' }));
