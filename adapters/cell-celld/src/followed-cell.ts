import type { Socket } from 'node:net';
import type { Cell, CellEnd, CellFacts } from '@glovebox/cell';
import { type CelldAnswer, protocolError } from '@glovebox/cell/celld-protocol';
import { type CellId, type CellPlan, GloveboxError, toErrorData } from '@glovebox/contract';
import type { CellSockets } from './boot.ts';
import { hear, say, unexpected } from './connection.ts';
import type { Deadlines } from './driver.ts';

export interface FollowedCellParts {
  id: CellId;
  plan: CellPlan;
  facts: CellFacts;
  control: Socket;
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
  let dispatch: Dispatch = { kind: 'none' };
  let killedBy: CellEnd['cause'] | undefined;
  let isOver = false;
  // celld kills by its own clock: past that, and the time that a death may take, it is not to be waited for.
  let patience = setTimeout(giveUp, plan.limits.lifetimeMs + deadlines.workDeadlineMs);

  function giveUp(): void {
    control.destroy();
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
    // What celld has yet to say keeps nobody: it is whether a stream that was not read was cut.
    control.unref();
    // A cell that died first has no more use for its limits.
    if (dispatch.kind === 'asked')
      answerDispatch(end.error === undefined ? undefined : GloveboxError.fromData(end.error));
    return end;
  };

  const lost = (thrown: unknown): CellEnd => {
    control.destroy();
    for (const socket of Object.values(sockets)) socket?.destroy();
    return {
      cause: killedBy ?? 'self',
      exit: { code: null, signal: null },
      pidsLimitHit: false,
      peakMemoryBytes: null,
      peakPids: null,
      teardownMs: 0,
      error: toErrorData(thrown),
    };
  };

  const take = (answer: CelldAnswer): CellEnd | undefined => {
    if ('dispatched' in answer) answerDispatch();
    else if ('refused' in answer) answerDispatch(GloveboxError.fromData(answer.refused));
    else if ('ended' in answer) return answer.ended;
    else if ('error' in answer) throw lostWhile(answer.error.message);
    else throw unexpected(answer);
    return undefined;
  };

  const ended = (async (): Promise<CellEnd> => {
    try {
      for (;;) {
        const answer = await hear(control);
        if (answer === undefined) throw lostWhile('celld broke off');
        const end = take(answer);
        if (end !== undefined) return over(end);
      }
    } catch (thrown) {
      return over(lost(thrown));
    }
  })();
  void ended.then(() => hearOfCuts(parts));

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
        say(control, { dispatch: { cpu, deadlineMs } });
      });
    },
    kill(cause) {
      if (isOver || killedBy !== undefined) return;
      killedBy = cause;
      say(control, { kill: { cause } });
      clearTimeout(patience);
      patience = setTimeout(giveUp, deadlines.workDeadlineMs);
    },
    ended,
  };
}

const lostWhile = (why: string): GloveboxError =>
  new GloveboxError('CELL_LOST', { message: `A cell could not be confirmed dead: ${why}.` });

/** Streams of a dead cell that nobody reads are cut by celld after a while: whoever reads on must not take that for their end. */
async function hearOfCuts({ control, sockets }: FollowedCellParts): Promise<void> {
  try {
    for (let answer = await hear(control); answer !== undefined; answer = await hear(control)) {
      if (!('cut' in answer)) throw unexpected(answer);
      sockets[answer.cut.stream]?.destroy(lostWhile('its output was not read in time'));
    }
  } catch {
    // The cell is dead and its end is told. What celld says beside the protocol now changes nothing.
  }
  control.destroy();
}
