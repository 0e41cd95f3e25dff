import type { RequestHead } from '@glovebox/channel';
import { httpOnly, refusedHere, subjectOf } from './egress-error.ts';
import { requestHeaders } from './names.ts';

/** Where a connection of the node leads, from what it was opened with. */
export interface Origin {
  readonly scheme: 'http' | 'https';
  /** As it stands in a URL. */
  readonly host: string;
  readonly port: number;
}

export type Framing = { kind: 'none' } | { kind: 'length'; left: number } | { kind: 'chunked' };

/** A request as a client has written it. */
export interface ParsedHead {
  /** For the channel. */
  readonly head: RequestHead;
  readonly version: '1.0' | '1.1';
  readonly framing: Framing;
  readonly keepAlive: boolean;
  readonly expectsContinue: boolean;
  readonly websocket: boolean;
}

const requestLine = /^([A-Z-]{1,32}) (\S+) HTTP\/1\.([01])$/;
const methodAndSpace = /^[A-Z-]{0,32}($| )/;
const versionAtEnd = / HTTP\/1\.[01]\r$/;
const fieldLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;
const contentLength = /^\d{1,15}$/;
/** Between this connection and its client; the host has connections of its own. */
const hopByHop: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'http2-settings',
]);

/** Whether `bytes` may be the beginning of a request: what is none is told at once, not after a head that never ends. */
export function mayBeHttp(bytes: Buffer): boolean {
  if (!methodAndSpace.test(bytes.toString('latin1', 0, 33))) return false;
  const end = bytes.indexOf('\n');
  return end === -1 || versionAtEnd.test(bytes.toString('latin1', Math.max(0, end - 10), end));
}

/** Whether it would be a request, were its method in capitals. */
export const startsInLowerCase = (bytes: Buffer): boolean => /^[a-z]{1,32} \//.test(bytes.toString('latin1', 0, 34));

/**
 * @param text the head without its last empty line, one character a byte.
 * @throws NodeError `CELL_HTTP_ONLY` for what is no request to `origin`, `EGRESS_DENIED` for one that cannot be passed on.
 */
export function parseRequestHead(text: string, origin: Origin): ParsedHead {
  const lines = text.split('\r\n');
  const [, method = '', target = '', minor] = requestLine.exec(lines[0] as string) ?? [];
  if (minor === undefined) throw httpOnly(`To ${origin.host}:${origin.port} something was written that is no request`);
  // With its port, always: the harness's own requests have none, so no URL that a node is given can ask for what is theirs.
  const url = `${origin.scheme}://${origin.host}:${origin.port}${pathOf(target, method, origin)}`;
  const fields = readFields(lines, method, url);
  const named = (name: string): string => fields.get(name) ?? '';
  const connection = tokens(named('connection'));
  const websocket = connection.has('upgrade') && tokens(named('upgrade')).has('websocket');
  const headers: { [name: string]: string } = Object.create(null);
  for (const [name, value] of fields) {
    if (!hopByHop.has(name) && (!connection.has(name) || name === 'content-length')) headers[name] = value;
  }
  if (websocket) headers[requestHeaders.upgrade] = 'websocket';
  return {
    head: { method, url, headers },
    version: minor === '1' ? '1.1' : '1.0',
    framing: websocket ? { kind: 'none' } : framingOf(fields, method, url),
    keepAlive: minor === '1' ? !connection.has('close') : connection.has('keep-alive'),
    expectsContinue: named('expect').toLowerCase() === '100-continue',
    websocket,
  };
}

/** Only the path: whatever a request says of its host, it goes where the connection was opened to. */
function pathOf(target: string, method: string, { host, port }: Origin): string {
  if (!target.startsWith('/')) throw httpOnly(`${host}:${port} was asked to be a proxy, by ${method}`);
  if (target.includes('#')) throw refusedHere('URL_REFUSED', `${subjectOf({ method, url: target })} has a fragment`);
  return target;
}

function readFields(lines: string[], method: string, url: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of lines.slice(1)) {
    const [, name = '', value] = fieldLine.exec(line) ?? [];
    if (value === undefined)
      throw refusedHere('HEADER_REFUSED', `${subjectOf({ method, url })} has a header that is none`);
    const key = name.toLowerCase();
    const before = fields.get(key);
    fields.set(key, before === undefined ? value : `${before}${key === 'cookie' ? '; ' : ', '}${value}`);
  }
  return fields;
}

const tokens = (value: string): ReadonlySet<string> =>
  new Set(value.split(',').map((token) => token.trim().toLowerCase()));

/** Two readings of where a body ends would be two readings of what the next request is: such a request is refused. */
function framingOf(fields: Map<string, string>, method: string, url: string): Framing {
  const encoding = fields.get('transfer-encoding');
  const length = fields.get('content-length');
  if (encoding !== undefined) {
    if (encoding.toLowerCase() !== 'chunked' || length !== undefined)
      throw refusedHere('HEADER_REFUSED', `${subjectOf({ method, url })} has a body of unclear length`);
    return { kind: 'chunked' };
  }
  if (length === undefined) return { kind: 'none' };
  if (!contentLength.test(length))
    throw refusedHere('HEADER_REFUSED', `${subjectOf({ method, url })} has a length that is none`);
  return length === '0' ? { kind: 'none' } : { kind: 'length', left: Number(length) };
}
