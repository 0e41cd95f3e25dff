import { createServer, type Server, type Socket } from 'node:net';
import {
  type CelldRequest,
  celldLineBytes,
  celldRequestSchema,
  decodeCelldLine,
  protocolError,
  readLine,
} from '@glovebox/cell/celld-protocol';
import { type CellId, GloveboxError } from '@glovebox/contract';
import { noSuchCell, serveCell } from './cell-session.ts';
import { type House, refuse, requireOpen, sayLast } from './house.ts';

/** Control, channel, stdout, stderr, stdin. */
const connectionsOfCell = 5;
/** For questions. */
const otherConnections = 32;
/** Of those that are too many, how many are told so, and have a moment to read it. */
const refusedConnections = 32;

export interface ServeOptions {
  house: House;
  maxCells: number;
}

export const mostConnections = (maxCells: number): number =>
  connectionsOfCell * maxCells + otherConnections + refusedConnections;

/** Serve every connection to a socket by its first line. Not listening yet. */
export function createCelldServer({ house, maxCells }: ServeOptions): Server {
  const most = mostConnections(maxCells);
  let connections = 0;
  // Half-closed is a state of its own: a host may end what it says on a channel and hear on.
  return createServer({ allowHalfOpen: true }, (socket) => {
    // Its close follows; an event that nobody listens to would end this process.
    socket.on('error', () => {});
    connections++;
    socket.once('close', () => connections--);
    if (connections > most) socket.destroy();
    else if (connections > most - refusedConnections) {
      refuse(house, socket, new GloveboxError('CELLD_FULL', { message: 'celld has all the connections it may have.' }));
    } else serveConnection(house, socket).catch((thrown: unknown) => refuse(house, socket, thrown));
  });
}

async function serveConnection(house: House, socket: Socket): Promise<void> {
  const request = await readRequest(house, socket);
  if (request === undefined) {
    socket.destroy();
    return;
  }
  if (request.open === 'cell' || request.open === 'inspect') requireOpen(house);
  if (request.open === 'cell') await serveCell(house, request, socket);
  else if (request.open === 'stream') {
    const session = house.sessions.get(request.id as CellId);
    if (session === undefined) throw noSuchCell();
    session.attach(request.key, request.stream, socket);
  } else {
    sayLast(house, socket, await house.requests.answer(request));
  }
}

/** @returns undefined where the client has gone without a word. */
async function readRequest({ patience: { requestMs } }: House, socket: Socket): Promise<CelldRequest | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(protocolError('Nothing was asked for in time')), requestMs);
  });
  try {
    const line = await Promise.race([readLine(socket, celldLineBytes.request), late]);
    return line === undefined ? undefined : decodeCelldLine(line, celldLineBytes.request, celldRequestSchema);
  } finally {
    clearTimeout(timer);
  }
}
