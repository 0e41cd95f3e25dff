import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Cell, CellFacts } from '@glovebox/cell';
import { type CelldRequest, type CellStreamName, celldVersion } from '@glovebox/cell/celld-protocol';
import type { CellId, CellPlan } from '@glovebox/contract';
import { connectTo, expectAnswer, say, unexpected } from './connection.ts';
import type { Deadlines } from './driver.ts';
import { followCell } from './followed-cell.ts';

export interface BootRequest {
  socketPath: string;
  deadlines: Deadlines;
  plan: CellPlan;
  id: CellId;
}

/** The connections of a cell: one for each of its streams, so that none of them can hold up another. */
export type CellSockets = Record<Exclude<CellStreamName, 'stdin'>, Socket> & { stdin: Socket | null };

/** Have one cell booted. Whatever fails, its connection is given up, upon which celld leaves nothing of it. */
export async function bootCell(request: BootRequest): Promise<Cell> {
  const { socketPath, deadlines, plan, id } = request;
  const key = randomBytes(16).toString('hex');
  const control = await connectTo(socketPath);
  const opened: Socket[] = [control];
  try {
    say(control, { celld: celldVersion, open: 'cell', id, key, plan });
    const answer = await expectAnswer(control, deadlines.answerDeadlineMs);
    if (!('opened' in answer)) throw unexpected(answer);
    const attaching = attachAll(request, key, opened);
    // A boot that fails fails this too, and has the better reason.
    attaching.catch(() => {});
    const facts = await awaitBooted(control, deadlines.workDeadlineMs);
    return followCell({ id, plan, facts, control, sockets: await attaching, deadlines });
  } catch (thrown) {
    for (const socket of opened) socket.destroy();
    throw thrown;
  }
}

async function awaitBooted(control: Socket, deadlineMs: number): Promise<CellFacts> {
  const answer = await expectAnswer(control, deadlineMs);
  if (!('booted' in answer)) throw unexpected(answer);
  return answer.booted;
}

async function attachAll(request: BootRequest, key: string, opened: Socket[]): Promise<CellSockets> {
  const attach = (stream: CellStreamName): Promise<Socket> => attachStream(request, key, stream, opened);
  const [channel, stdout, stderr, stdin] = await Promise.all([
    attach('channel'),
    attach('stdout'),
    attach('stderr'),
    request.plan.role === 'bundle' ? attach('stdin') : null,
  ]);
  return { channel, stdout, stderr, stdin };
}

async function attachStream(
  { socketPath, deadlines, id }: BootRequest,
  key: string,
  stream: CellStreamName,
  opened: Socket[],
): Promise<Socket> {
  const socket = await connectTo(socketPath);
  opened.push(socket);
  const line: CelldRequest = { celld: celldVersion, open: 'stream', id, key, stream };
  say(socket, line);
  const answer = await expectAnswer(socket, deadlines.answerDeadlineMs);
  if (!('attached' in answer)) throw unexpected(answer);
  return socket;
}
