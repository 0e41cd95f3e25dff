import { NodeError } from '@glovebox/sdk';
import { encodeForLog, errorCodePattern, maxRetryAfterMs, nodeErrorMark, textOf } from '@glovebox/sdk/context-rules';
import { egressErrorIn } from '../net/egress-error.ts';
import { execPattern, indexOfText, quote, sliceText, utf8Length } from './primordials.ts';
import { property } from './property.ts';

/** What the host takes of an error's body is 128 KiB. */
const maxBodyBytes = 120 * 1024;
const maxMessageLength = 16 * 1024;
const maxStackLength = 32 * 1024;
const maxCauses = 5;
const ownFrame = '/glovebox/harness.';

export interface Failure {
  code: string;
  message: string;
  stack?: string | undefined;
  place?: string | undefined;
  retryable?: boolean | undefined;
  retryAfterMs?: number | undefined;
  /** JSON text. */
  detailsText?: string | undefined;
}

/**
 * What was thrown, as a failure of the attempt. It may be anything: null, a string, a proxy that throws at every touch.
 *
 * A NodeError keeps its code. A request that came to nothing keeps its own, however a library has wrapped it. ENOSPC, also as a
 * cause, means that scratch is full: nothing else can be written to. What Node.js refuses of the network tells what there is
 * instead, as its own words are about a flag that no author has. Everything else is `fallback`.
 */
export function describeThrown(thrown: unknown, fallback: 'NODE_FAILED' | 'NODE_LOAD_FAILED'): Failure {
  const message = messageOf(thrown);
  const stack = stackOf(thrown);
  if (property(thrown, nodeErrorMark) === true) {
    const code = textOf(thrown, 'code');
    if (code !== undefined && execPattern(errorCodePattern, code)) {
      return { code, message: textOf(thrown, 'message') ?? message, stack, ...nodeErrorFields(thrown) };
    }
  }
  const egress = egressErrorIn(thrown);
  if (egress !== undefined) {
    const code = property(egress, 'code') as string;
    return { code, message: textOf(egress, 'message') ?? message, stack, ...nodeErrorFields(egress) };
  }
  if (isScratchFull(thrown)) return { code: 'SCRATCH_FULL', message, stack };
  if (askedForNetwork(thrown)) return { code: 'CELL_HTTP_ONLY', message: noNetwork, stack };
  return { code: fallback, message, stack };
}

function nodeErrorFields(thrown: unknown): Pick<Failure, 'retryable' | 'retryAfterMs' | 'detailsText'> {
  const retryAfterMs = property(thrown, 'retryAfterMs');
  const details = property(thrown, 'details');
  const inRange = typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs <= maxRetryAfterMs;
  return {
    retryable: property(thrown, 'retryable') === true,
    retryAfterMs: inRange ? retryAfterMs : undefined,
    detailsText: details === undefined ? undefined : encodeForLog(details),
  };
}

/** The body of an error result: a GuestError, within the sizes that the host takes. */
export function failureText(failure: Failure): string {
  for (let share = 1; ; share /= 2) {
    const text = write(failure, share);
    // Escapes take up to six bytes a character; short texts are within bounds whatever they hold.
    if (utf8Length(text) <= maxBodyBytes) return text;
  }
}

function write(failure: Failure, share: number): string {
  const { code, message, stack, place, retryable, retryAfterMs, detailsText } = failure;
  let text = `{"code":${quote(code)},"message":${quote(cut(message, maxMessageLength * share))}`;
  if (stack !== undefined) text += `,"stack":${quote(cut(stack, maxStackLength * share))}`;
  if (place !== undefined) text += `,"place":${quote(cut(place, 1024))}`;
  if (retryable !== undefined) text += `,"retryable":${retryable}`;
  if (retryAfterMs !== undefined) text += `,"retryAfterMs":${retryAfterMs}`;
  if (detailsText !== undefined) text += `,"details":${detailsText}`;
  return `${text}}`;
}

export function messageOf(thrown: unknown): string {
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function';
  if (!isObject)
    return `${typeof thrown === 'string' ? 'A string' : 'A value that is no Error'} was thrown: ${encodeForLog(thrown)}`;
  const message = textOf(thrown, 'message');
  if (message === undefined) return `A value that is no Error was thrown: ${encodeForLog(thrown)}`;
  const name = textOf(thrown, 'name');
  return name === undefined || name === '' || name === 'Error' ? message : `${name}: ${message}`;
}

/** The stack, and below it the messages or stacks of its causes. */
function stackOf(thrown: unknown): string | undefined {
  const stack = textOf(thrown, 'stack');
  let text = stack === undefined ? undefined : withoutOwnFrames(cut(stack, maxStackLength));
  let cause = property(thrown, 'cause');
  for (let n = 0; n < maxCauses && cause !== undefined; n++) {
    text = `${text ?? ''}\nCaused by: ${withoutOwnFrames(cut(textOf(cause, 'stack') ?? messageOf(cause), 8192))}`;
    cause = property(cause, 'cause');
  }
  return text;
}

/** Frames of the harness say nothing to an author. */
function withoutOwnFrames(stack: string): string {
  if (indexOfText(stack, ownFrame) === -1) return stack;
  let text = '';
  for (let from = 0; from <= stack.length; ) {
    const feed = indexOfText(stack, '\n', from);
    const end = feed === -1 ? stack.length : feed;
    const line = sliceText(stack, from, end);
    if (indexOfText(line, ownFrame) === -1) text += `${from === 0 ? '' : '\n'}${line}`;
    from = end + 1;
  }
  return text;
}

const isScratchFull = (thrown: unknown): boolean => hasCause(thrown, (error) => textOf(error, 'code') === 'ENOSPC');

const noNetwork =
  'The node asked Node.js itself for the network: a socket, a server or a name. A cell has none of these. ctx.fetch and HTTP libraries reach what capabilities.http of node.json declares; without it there is nothing to reach.';

/** Node.js names the permission, except where a name was to be looked up or a datagram socket bound: then the call. */
const askedForNetwork = (thrown: unknown): boolean =>
  hasCause(thrown, (error) => {
    if (textOf(error, 'code') !== 'ERR_ACCESS_DENIED') return false;
    const permission = textOf(error, 'permission');
    return permission === 'Net' || (permission === undefined && textOf(error, 'syscall') !== undefined);
  });

function hasCause(thrown: unknown, is: (error: unknown) => boolean): boolean {
  let error = thrown;
  for (let n = 0; n <= maxCauses; n++) {
    if (is(error)) return true;
    error = property(error, 'cause');
  }
  return false;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${sliceText(text, 0, length - 1)}…`;
}

/** An error of ours, for the node to catch or to fail by. */
export function contextError(code: string, message: string): Error {
  return new NodeError(code, message);
}
