import type { ResponseHead } from '@glovebox/channel';
import { parseJsonText } from '../harness/primordials.ts';

/** How the body of an answer is told apart from what follows. `close`: by the end of the connection. */
export type AnswerFraming =
  | { kind: 'none' }
  | { kind: 'length'; left: number }
  | { kind: 'chunked' }
  | { kind: 'close' };

/** What the framing on this connection says, or what is about a connection that is not this one. */
const ours: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'trailer',
  'upgrade',
  'content-length',
]);
const lengthPattern = /^\d{1,15}$/;

export interface AskedBy {
  readonly method: string;
  readonly version: '1.0' | '1.1';
  readonly keepAlive: boolean;
}

/** @returns how the body follows, and the head as text of one byte a character. */
export function writeAnswerHead(
  { status, headers }: ResponseHead,
  phrase: string,
  asked: AskedBy,
): { framing: AnswerFraming; text: string } {
  const framing = framingOf(status, headers['content-length'], asked);
  let text = `HTTP/1.1 ${status} ${phrase}\r\n${fieldLines(headers)}`;
  const length = headers['content-length'];
  // For HEAD and 304 it tells of the body that is not there.
  if (length !== undefined && (framing.kind === 'length' || (framing.kind === 'none' && status !== 204)))
    text += `content-length: ${length}\r\n`;
  else if (framing.kind === 'chunked') text += 'transfer-encoding: chunked\r\n';
  if (!asked.keepAlive || framing.kind === 'close') text += 'connection: close\r\n';
  else if (asked.version === '1.0') text += 'connection: keep-alive\r\n';
  return { framing, text: `${text}\r\n` };
}

/** The channel has 200 for it: a head on the channel is always the last. */
export const writeUpgradeHead = ({ headers }: ResponseHead): string =>
  `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${fieldLines(headers)}\r\n`;

function framingOf(status: number, length: string | undefined, { method, version }: AskedBy): AnswerFraming {
  if (method === 'HEAD' || status === 204 || status === 304) return { kind: 'none' };
  if (length !== undefined && lengthPattern.test(length)) return { kind: 'length', left: Number(length) };
  return { kind: version === '1.0' ? 'close' : 'chunked' };
}

function fieldLines(headers: ResponseHead['headers']): string {
  let text = '';
  for (const name of Object.keys(headers)) {
    if (ours.has(name)) continue;
    const value = headers[name] as string;
    for (const one of name === 'set-cookie' ? cookies(value) : [value]) text += `${name}: ${one}\r\n`;
  }
  return text;
}

/** `set-cookie` is the one header whose fields cannot be joined: the channel has them as a JSON array of texts. */
function cookies(value: string): string[] {
  const values = parseJsonText(value);
  if (!Array.isArray(values) || !values.every((one) => typeof one === 'string' && !/[\r\n\0]/.test(one)))
    throw new TypeError('set-cookie is no list of texts');
  return values as string[];
}
