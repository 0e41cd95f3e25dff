import { connect, type Socket } from 'node:net';
import {
  type CelldAnswer,
  type CelldRequest,
  type CellOrder,
  celldAnswerSchema,
  celldLineBytes,
  decodeCelldLine,
  encodeCelldLine,
  type Lines,
  openLines,
  protocolError,
  readLine,
} from '@glovebox/cell/celld-protocol';
import { GloveboxError } from '@glovebox/contract';
import { CellConnection } from './cell-connection.ts';

/** A connection on which celld answers in lines. */
export interface Talk {
  socket: Socket;
  lines: Lines;
}

/** Say something on a connection of its own. It is on its way before the connection is there. */
export function openTalk(socketPath: string, request: CelldRequest): Talk {
  const socket = quiet(connect({ path: socketPath }));
  say(socket, request);
  return { socket, lines: openLines(socket) };
}

/**
 * Attach to a stream of a cell: after one line it carries nothing but the stream.
 *
 * @throws GloveboxError what celld says, `CELLD_UNREACHABLE`, `CELLD_PROTOCOL`.
 */
export async function attachTo(
  socket: CellConnection,
  request: Extract<CelldRequest, { open: 'stream' }>,
  deadlineMs: number,
): Promise<void> {
  say(socket, request);
  const line = (): Promise<Buffer | undefined> => readLine(socket, celldLineBytes.answer);
  const answer = await within(socket, deadlineMs, line);
  if (!('attached' in answer)) throw unexpected(answer);
}

export const openStream = (socketPath: string): CellConnection => quiet(CellConnection.to(socketPath));

/** Its end is seen where it is read from; an event that nobody listens to would end this process. */
const quiet = <Connection extends Socket>(socket: Connection): Connection => socket.on('error', () => {});

export const say = (socket: Socket, message: CelldRequest | CellOrder): void =>
  void socket.write(encodeCelldLine(message));

/**
 * The next line of celld.
 *
 * @returns undefined where it has no more to say.
 * @throws GloveboxError `CELLD_PROTOCOL`.
 */
export async function hear({ lines }: Talk): Promise<CelldAnswer | undefined> {
  const line = await lines.next(celldLineBytes.answer);
  return line === undefined ? undefined : decodeAnswer(line);
}

/**
 * The next line of celld, which must come in time and be no error.
 *
 * @throws GloveboxError what celld says, `CELLD_UNREACHABLE`, `CELLD_PROTOCOL`.
 */
export const expectAnswer = ({ socket, lines }: Talk, deadlineMs: number): Promise<CelldAnswer> =>
  within(socket, deadlineMs, () => lines.next(celldLineBytes.answer));

async function within(
  socket: Socket,
  deadlineMs: number,
  read: () => Promise<Buffer | undefined>,
): Promise<CelldAnswer> {
  // Ends the wait too: what is read from a destroyed socket is over.
  const timer = setTimeout(() => socket.destroy(), deadlineMs);
  try {
    const line = await read();
    if (line === undefined) throw unreachable(socket.errored);
    const answer = decodeAnswer(line);
    if ('error' in answer) throw GloveboxError.fromData(answer.error);
    return answer;
  } finally {
    clearTimeout(timer);
  }
}

/** One question, one answer, on a connection of its own. */
export async function ask(socketPath: string, request: CelldRequest, deadlineMs: number): Promise<CelldAnswer> {
  const talk = openTalk(socketPath, request);
  try {
    return await expectAnswer(talk, deadlineMs);
  } finally {
    talk.socket.destroy();
  }
}

const decodeAnswer = (line: Buffer): CelldAnswer => decodeCelldLine(line, celldLineBytes.answer, celldAnswerSchema);

const unreachable = (cause: Error | null): GloveboxError =>
  new GloveboxError('CELLD_UNREACHABLE', {
    message: cause === null ? 'celld broke off.' : `celld does not answer: ${cause.message}`,
    ...(cause === null ? {} : { cause }),
  });

export const unexpected = (answer: CelldAnswer): GloveboxError =>
  protocolError(`celld said ${Object.keys(answer).join()} where something else was due`);
