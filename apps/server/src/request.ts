import { GloveboxError, parseJson } from '@glovebox/contract';
import type { Route } from '@glovebox/contract/routes';
import type { z } from 'zod';

/** What a route is asked, as it comes: a `Request`, or what stands for one in process. */
export interface ApiRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | string | null;
  readonly signal?: AbortSignal;
}

/** Of the whole URL, as it is spelled. */
const maxUrlLength = 8192;
/** Levels of a body's own shape; values of nodes are texts in it. */
const maxBodyDepth = 16;

/**
 * Routers pass over a slash at the end; here each thing has one address.
 *
 * @throws GloveboxError `REQUEST_TOO_LARGE`, `NOT_FOUND`.
 */
export function requirePlainUrl({ url }: ApiRequest): void {
  if (url.length > maxUrlLength) throw new GloveboxError('REQUEST_TOO_LARGE', { message: 'The URL is too long.' });
  const [path = ''] = url.split(/[?#]/, 1);
  if (path.endsWith('/')) throw new GloveboxError('NOT_FOUND', { message: 'There is no such route.' });
}

/**
 * What is not of the form of a parameter is the name of nothing: that is told, and not what the form is.
 *
 * @throws GloveboxError `NOT_FOUND`.
 */
export function readParams<Schema extends z.ZodType>(schema: Schema, params: Record<string, string>): z.output<Schema> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new GloveboxError('NOT_FOUND', { message: `There is no such ${String(parsed.error.issues[0]?.path[0])}.` });
}

/** @throws GloveboxError `REQUEST_INVALID` that names the field: one that is unknown, given twice, or not valid. */
export function readQuery<Schema extends z.ZodType>(schema: Schema, url: string): z.output<Schema> {
  const at = url.indexOf('?');
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(at === -1 ? '' : url.slice(at))) {
    if (query.has(name)) throw invalid(`${shown(name)} stands twice in the query`, [name]);
    query.set(name, value);
  }
  return check(schema, Object.fromEntries(query), 'query');
}

/**
 * The body, never more of it in memory than the route allows.
 *
 * @throws GloveboxError `REQUEST_TOO_LARGE`, `REQUEST_INVALID` that names the field.
 */
export async function readBody<Schema extends z.ZodType>(
  { schema, maxBytes }: { schema: Schema; maxBytes: number },
  request: ApiRequest,
): Promise<z.output<Schema>> {
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  // Whatever else a page of another site could send is refused before it is read.
  if (mediaType !== 'application/json') {
    throw new GloveboxError('REQUEST_INVALID', { message: 'The body is not declared as application/json.' });
  }
  const text = await readText(request, maxBytes);
  const parsed = parseJson(text, { maxBytes, maxDepth: maxBodyDepth });
  if (!parsed.ok) {
    throw new GloveboxError('REQUEST_INVALID', { message: `The body is not usable JSON: ${parsed.detail}.` });
  }
  return check(schema, parsed.value, 'body');
}

/** @throws GloveboxError `REQUEST_INVALID` where a route that takes no body is sent one. */
export async function requireNoBody({ body, headers }: ApiRequest): Promise<void> {
  if (body === null || body === '' || headers.get('content-length') === '0') return;
  throw new GloveboxError('REQUEST_INVALID', { message: 'This route takes no body.' });
}

async function readText({ body, headers }: ApiRequest, maxBytes: number): Promise<string> {
  const declared = headers.get('content-length');
  if (declared !== null && Number(declared) > maxBytes) throw tooLarge(maxBytes);
  if (typeof body === 'string') {
    if (Buffer.byteLength(body) > maxBytes) throw tooLarge(maxBytes);
    return body;
  }
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new GloveboxError('REQUEST_INVALID', { message: 'The body is not UTF-8.', cause });
  }
}

const tooLarge = (maxBytes: number): GloveboxError =>
  new GloveboxError('REQUEST_TOO_LARGE', { message: `The body is over the ${maxBytes} bytes of this route.` });

function check<Schema extends z.ZodType>(schema: Schema, value: unknown, part: 'query' | 'body'): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path ?? [];
  if (issue?.code === 'unrecognized_keys') {
    const name = issue.keys[0] ?? '';
    throw invalid(`${shown(name)} is not a field of the ${part}`, [...path, name]);
  }
  throw invalid(`the ${part} is not valid at /${path.map(String).join('/')}: ${issue?.message}`, path);
}

function invalid(message: string, path: readonly PropertyKey[]): GloveboxError {
  return new GloveboxError('REQUEST_INVALID', {
    message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
    place: { path: `/${path.map((part) => String(part).slice(0, 200)).join('/')}` },
  });
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 100));

/** Whether a stream is wanted. */
export function acceptsEvents(route: Route, { headers }: ApiRequest): boolean {
  return route.streams !== null && (headers.get('accept') ?? '').includes('text/event-stream');
}
