import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Cell, type CellFacts, planHash } from '@glovebox/cell';
import { type CellStreamName, celldVersion, protocolError } from '@glovebox/cell/celld-protocol';
import type { CellId, CellPlan } from '@glovebox/contract';
import type { CellConnection } from './cell-connection.ts';
import { attachTo, expectAnswer, openStream, openTalk, type Talk, unexpected } from './connection.ts';
import type { Deadlines } from './driver.ts';
import { followCell } from './followed-cell.ts';

export interface BootRequest {
  /** Where celld is known to listen. */
  socketPath: string;
  deadlines: Deadlines;
  plan: CellPlan;
  id: CellId;
}

/** The connections of a cell: one for each of its streams, so that none of them can hold up another. */
export type CellSockets = Record<Exclude<CellStreamName, 'stdin'>, CellConnection> & { stdin: CellConnection | null };

/** Have one cell booted. Whatever fails, its connection is given up, upon which celld leaves nothing of it. */
export async function bootCell(request: BootRequest): Promise<Cell> {
  const { socketPath, deadlines, plan, id } = request;
  const key = randomBytes(16).toString('hex');
  const control = openTalk(socketPath, { celld: celldVersion, open: 'cell', id, key, plan });
  const opened: Socket[] = [control.socket];
  try {
    // celld has something to do meanwhile.
    const hash = planHash(plan);
    const answer = await expectAnswer(control, deadlines.answerDeadlineMs);
    if (!('opened' in answer)) throw unexpected(answer);
    const attaching = attachAll(request, key, opened);
    // A boot that fails fails this too, and has the better reason.
    attaching.catch(() => {});
    const facts = await awaitBooted(control, deadlines.workDeadlineMs);
    if (facts.planHash !== hash) throw protocolError('celld booted a cell of another plan');
    return followCell({ id, plan, facts, control, sockets: await attaching, deadlines });
  } catch (thrown) {
    for (const socket of opened) socket.destroy();
    throw thrown;
  }
}

async function awaitBooted(control: Talk, deadlineMs: number): Promise<CellFacts> {
  const answer = await expectAnswer(control, deadlineMs);
  if (!('booted' in answer)) throw unexpected(answer);
  return answer.booted;
}

async function attachAll(request: BootRequest, key: string, opened: Socket[]): Promise<CellSockets> {
  const { socketPath, deadlines, id, plan } = request;
  const attach = async (stream: CellStreamName): Promise<CellConnection> => {
    const socket = openStream(socketPath);
    opened.push(socket);
    await attachTo(socket, { celld: celldVersion, open: 'stream', id, key, stream }, deadlines.answerDeadlineMs);
    return socket;
  };
  const [channel, stdout, stderr, stdin] = await Promise.all([
    attach('channel'),
    attach('stdout'),
    attach('stderr'),
    plan.role === 'bundle' ? attach('stdin') : null,
  ]);
  // Nothing is read from it, so its end is only that it takes no more.
  stdin?.confirm();
  return { channel, stdout, stderr, stdin };
}
