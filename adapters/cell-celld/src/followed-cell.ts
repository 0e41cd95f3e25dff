import type { Cell, CellEnd, CellFacts } from '@glovebox/cell';
import { type CelldAnswer, protocolError } from '@glovebox/cell/celld-protocol';
import { type CellId, type CellPlan, GloveboxError, toErrorData } from '@glovebox/contract';
import type { CellSockets } from './boot.ts';
import { hear, say, type Talk, unexpected } from './connection.ts';
import type { Deadlines } from './driver.ts';

export interface FollowedCellParts {
  id: CellId;
  plan: CellPlan;
  facts: CellFacts;
  control: Talk;
  sockets: CellSockets;
  deadlines: Deadlines;
}

/** How far a dispatch has come. celld answers it once. */
type Dispatch = { kind: 'none' } | { kind: 'asked'; settle(problem?: GloveboxError): void } | { kind: 'answered' };

/**
 * A cell as celld tells of it. celld owns its time and its death; here is only what to believe when celld falls silent:
 * that nothing is known, so the cell may still run.
 */
export function followCell(parts: FollowedCellParts): Cell {
  const { control, sockets, plan, deadlines } = parts;
  const { socket } = control;
  const outputs = [sockets.channel, sockets.stdout, sockets.stderr];
  let dispatch: Dispatch = { kind: 'none' };
  let killedBy: CellEnd['cause'] | undefined;
  let isOver = false;
  // celld kills by its own clock: past that, and the time that a death may take, it is not to be waited for.
  let patience = setTimeout(giveUp, plan.limits.lifetimeMs + deadlines.workDeadlineMs);

  function giveUp(): void {
    socket.destroy();
  }

  const answerDispatch = (problem?: GloveboxError): void => {
    if (dispatch.kind !== 'asked') throw protocolError('celld answers a dispatch that was not asked for');
    const { settle } = dispatch;
    dispatch = { kind: 'answered' };
    settle(problem);
  };

  const over = (end: CellEnd): CellEnd => {
    isOver = true;
    clearTimeout(patience);
    // What celld has yet to say keeps nobody, but who has read a stream to its end and waits to hear that it is one.
    if (!outputs.some(({ isHeld }) => isHeld)) socket.unref();
    // A cell that died first has no more use for its limits.
    if (dispatch.kind === 'asked')
      answerDispatch(end.error === undefined ? undefined : GloveboxError.fromData(end.error));
    return end;
  };

  const lost = (thrown: unknown): CellEnd => {
    const error = GloveboxError.is(thrown, 'CELL_LOST') ? thrown : lostWhile(toErrorData(thrown).message, thrown);
    socket.destroy();
    for (const stream of [...outputs, sockets.stdin]) stream?.destroy();
    return {
      cause: killedBy ?? 'self',
      exit: { code: null, signal: null },
      pidsLimitHit: false,
      peakMemoryBytes: null,
      peakPids: null,
      teardownMs: 0,
      error: error.toData(),
    };
  };

  const take = (answer: CelldAnswer): CellEnd | undefined => {
    if ('dispatched' in answer) answerDispatch();
    else if ('refused' in answer) answerDispatch(GloveboxError.fromData(answer.refused));
    else if ('ended' in answer) return answer.ended;
    else if ('drained' in answer || 'cut' in answer) takeOutcome(sockets, answer);
    else if ('error' in answer) throw lostWhile(answer.error.message);
    else throw unexpected(answer);
    return undefined;
  };

  const ended = (async (): Promise<CellEnd> => {
    try {
      for (;;) {
        const answer = await hear(control);
        if (answer === undefined) throw lostWhile('celld broke off.');
        const end = take(answer);
        if (end !== undefined) return over(end);
      }
    } catch (thrown) {
      return over(lost(thrown));
    }
  })();
  for (const stream of outputs) stream.onHeld = () => void socket.ref();
  void ended.then(() => hearOutcomes(parts));

  return {
    id: parts.id,
    facts: parts.facts,
    channel: sockets.channel,
    stdout: sockets.stdout,
    stderr: sockets.stderr,
    stdin: sockets.stdin,
    dispatch({ cpu, deadlineMs }) {
      if (dispatch.kind !== 'none') {
        return Promise.reject(new GloveboxError('INTERNAL', { message: 'A cell is dispatched once.' }));
      }
      // No line can say these; celld would take the line for none of its protocol, and end the cell.
      if (!Number.isFinite(cpu) || !Number.isFinite(deadlineMs)) {
        return Promise.reject(
          new GloveboxError('PLAN_REFUSED', { message: 'A dispatch cannot give more than the plan.' }),
        );
      }
      if (isOver) return Promise.resolve();
      return new Promise((resolve, reject) => {
        dispatch = { kind: 'asked', settle: (problem) => (problem === undefined ? resolve() : reject(problem)) };
        say(socket, { dispatch: { cpu, deadlineMs } });
      });
    },
    kill(cause) {
      if (isOver || killedBy !== undefined) return;
      killedBy = cause;
      say(socket, { kill: { cause } });
      clearTimeout(patience);
      patience = setTimeout(giveUp, deadlines.workDeadlineMs);
    },
    ended,
  };
}

const lostWhile = (why: string, cause?: unknown): GloveboxError =>
  new GloveboxError('CELL_LOST', { message: `A cell could not be confirmed dead: ${why}`, cause });

const incomplete = (why: string): GloveboxError =>
  new GloveboxError('CELL_LOST', { message: `Not all that a dead cell wrote has come: ${why}` });

type StreamOutcome = Extract<CelldAnswer, { drained: unknown } | { cut: unknown }>;

function takeOutcome(sockets: CellSockets, answer: StreamOutcome): void {
  if ('drained' in answer) sockets[answer.drained.stream]?.confirm();
  else sockets[answer.cut.stream]?.destroy(incomplete('it was not read in time, or broke off'));
}

/** What of a dead cell's streams is whole. Whoever reads on must not take anything else for their end. */
async function hearOutcomes({ control, sockets }: FollowedCellParts): Promise<void> {
  try {
    for (let answer = await hear(control); answer !== undefined; answer = await hear(control)) {
      if (!('cut' in answer || 'drained' in answer)) throw unexpected(answer);
      takeOutcome(sockets, answer);
    }
  } catch {
    // The cell is dead and its end is told. What celld says beside the protocol now is as if it said no more.
  }
  control.socket.destroy();
  for (const stream of [sockets.channel, sockets.stdout, sockets.stderr]) {
    if (!stream.isSettled) stream.destroy(incomplete('celld broke off'));
  }
}
