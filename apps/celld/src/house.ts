import type { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { type CellDriver, createTurns, type Turns } from '@glovebox/cell';
import { type CelldAnswer, celldError, encodeCelldLine } from '@glovebox/cell/celld-protocol';
import { type CellId, GloveboxError, toErrorData } from '@glovebox/contract';
import type { CellSession } from './cell-session.ts';
import { createHostRequests, type HostRequests } from './host-requests.ts';
import type { KnownImages } from './images.ts';
import type { Quota } from './quota.ts';

/** What all connections share. */
export interface House {
  driver: CellDriver;
  images: KnownImages;
  quota: Quota;
  /** Every cell that is booting, running, or has streams that are not read to their end. */
  sessions: Map<CellId, CellSession>;
  /** Of boots. Who has given up before its turn boots nothing. */
  turns: Turns;
  requests: HostRequests;
  patience: Patience;
  /** Nothing that takes a cell is begun any more. */
  isStopping: boolean;
}

export interface Patience {
  /** For the first line of a connection. */
  requestMs: number;
  /** For a client to read the rest of what a dead cell wrote; less than a driver keeps it. */
  drainMs: number;
  /** For a client to close a connection on which all is said. */
  closeMs: number;
}

export const patience: Patience = { requestMs: 5000, drainMs: 25_000, closeMs: 1000 };

export function openHouse(parts: Pick<House, 'driver' | 'images' | 'quota' | 'patience'>): House {
  const host = { ...parts, sessions: new Map(), isStopping: false };
  return Object.assign(host, {
    turns: createTurns(2 * Math.max(2, availableParallelism())),
    requests: createHostRequests(host),
  });
}

/** @throws GloveboxError `CELLD_FULL`. */
export function requireOpen({ isStopping }: Pick<House, 'isStopping'>): void {
  if (isStopping) throw new GloveboxError('CELLD_FULL', { message: 'celld is stopping and makes no more cells.' });
}

export const say = (socket: Socket, answer: CelldAnswer): void => void socket.write(encodeCelldLine(answer));

/** Say why a connection ends, and end it. */
export const refuse = (house: Pick<House, 'patience'>, socket: Socket, thrown: unknown): void =>
  sayLast(house, socket, { error: celldError(toErrorData(thrown)) });

/**
 * Say the last thing, if there is one, and close. What the client still sends is thrown away for a moment: closed with
 * unread bytes, the connection would fail at its end, perhaps before it has read the answer.
 */
export function sayLast(
  { patience: { closeMs } }: Pick<House, 'patience'>,
  socket: Socket,
  answer?: CelldAnswer,
): void {
  if (socket.destroyed) return;
  if (socket.writable) socket.end(answer === undefined ? '' : encodeCelldLine(answer));
  socket.removeAllListeners('readable');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), closeMs);
  socket.once('close', () => clearTimeout(timer));
  if (socket.readableEnded) socket.destroySoon();
  else socket.once('end', () => socket.destroySoon());
}
