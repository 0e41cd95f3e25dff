import { connect, type Socket } from 'node:net';
import {
  type CelldAnswer,
  type CelldRequest,
  type CellOrder,
  celldAnswerSchema,
  celldLineBytes,
  decodeCelldLine,
  encodeCelldLine,
  protocolError,
  readLine,
} from '@glovebox/cell/celld-protocol';
import { GloveboxError } from '@glovebox/contract';

/** @throws GloveboxError `CELLD_UNREACHABLE`. */
export function connectTo(socketPath: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    const fail = (cause: Error): void =>
      reject(
        new GloveboxError('CELLD_UNREACHABLE', {
          message: `celld does not answer at ${socketPath}: ${cause.message}`,
          cause,
        }),
      );
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      // Its end is seen where it is read from; an event that nobody listens to would end this process.
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}

export const say = (socket: Socket, message: CelldRequest | CellOrder): void =>
  void socket.write(encodeCelldLine(message));

/**
 * The next line of celld.
 *
 * @returns undefined where it has no more to say.
 * @throws GloveboxError `CELLD_PROTOCOL`.
 */
export async function hear(socket: Socket): Promise<CelldAnswer | undefined> {
  const line = await readLine(socket, celldLineBytes.answer);
  return line === undefined ? undefined : decodeCelldLine(line, celldLineBytes.answer, celldAnswerSchema);
}

/**
 * The next line of celld, which must come in time and be no error.
 *
 * @throws GloveboxError what celld says, `CELLD_UNREACHABLE`, `CELLD_PROTOCOL`.
 */
export async function expectAnswer(socket: Socket, deadlineMs: number): Promise<CelldAnswer> {
  // Ends the wait too: what is read from a destroyed socket is over.
  const timer = setTimeout(() => socket.destroy(), deadlineMs);
  try {
    const answer = await hear(socket);
    if (answer === undefined) throw new GloveboxError('CELLD_UNREACHABLE', { message: 'celld broke off.' });
    if ('error' in answer) throw GloveboxError.fromData(answer.error);
    return answer;
  } finally {
    clearTimeout(timer);
  }
}

/** One question, one answer, on a connection of its own. */
export async function ask(socketPath: string, request: CelldRequest, deadlineMs: number): Promise<CelldAnswer> {
  const socket = await connectTo(socketPath);
  try {
    say(socket, request);
    return await expectAnswer(socket, deadlineMs);
  } finally {
    socket.destroy();
  }
}

export const unexpected = (answer: CelldAnswer): GloveboxError =>
  protocolError(`celld said ${Object.keys(answer).join()} where something else was due`);
