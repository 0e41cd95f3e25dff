import { setTimeout as sleep } from 'node:timers/promises';
import { type Cell, type CellEnd, type CellFacts, checkDispatch, readExitCode } from '@glovebox/cell';
import { type CellId, type CellPlan, GloveboxError, toErrorData } from '@glovebox/contract';
import { anotherEngine } from './another-engine.ts';
import type { CellStreams, StreamEvents } from './cell-streams.ts';
import type { CellUse, UseWatch } from './cell-use.ts';
import { containerLimits, initialCpu } from './create-body.ts';
import type { EngineApi } from './engine-api.ts';
import { oneLine } from './engine-client.ts';
import type { EngineContainer } from './engine-schemas.ts';

/** Where a cell stands. Only the first reason to kill counts; what comes later finds it ending. */
type Life = { kind: 'running' } | { kind: 'ending'; cause: CellEnd['cause']; sinceMs: number };

export interface RunningCellParts {
  id: CellId;
  plan: CellPlan;
  facts: CellFacts;
  api: EngineApi;
  container: string;
  use: UseWatch;
  open(events: StreamEvents): CellStreams;
  /** Close what is left of the connections: what is in them can be read until then. */
  close(): void;
  /** Remove the container and, once that is confirmed, its claim. @returns what could not be done. */
  dismantle(): Promise<GloveboxError | undefined>;
  /** Called when it could not be confirmed dead: nothing of it is touched but by a later sweep. */
  onLost(): void;
  /** Whether the engine that answers is the one that has the container. */
  isSameEngine(): Promise<boolean>;
  /** How long it is sought to be confirmed dead. */
  giveUpMs: number;
  ignoreDeadline: boolean;
}

/** How long an engine may take from a kill to saying that the container has stopped, before it is asked again. */
const patienceMs = 2_000;

/**
 * How long a killed cell's last words can be read before its connections are closed. An engine takes a container for running
 * until it has got rid of all that it wrote, so one whose reader has stopped would never be confirmed dead.
 */
const lastWordsMs = 500;

/** How long what a dead cell wrote can be read. */
const leftoverMs = 30_000;

/**
 * A container that has been started. The driver owns its time: lifetime from the boot, deadline from the dispatch, both on
 * the monotonic clock of the event loop. What the engine says of its death is believed when it says so by itself, or asked.
 */
export function superviseCell(parts: RunningCellParts): Cell {
  const { plan, api, container } = parts;
  const waiting = new AbortController();
  let life: Life = { kind: 'running' };
  /** Why the cell was killed although nobody wanted that: the engine went away, and with it all ways to the cell. */
  let broken: GloveboxError | undefined;
  let deadline: NodeJS.Timeout | undefined;
  let patience: NodeJS.Timeout | undefined;
  let lastWords: NodeJS.Timeout | undefined;
  let dispatched = false;

  const end = (cause: CellEnd['cause']): void => {
    if (life.kind === 'ending') return;
    life = { kind: 'ending', cause, sinceMs: performance.now() };
    // Sent at once; whether it came through is asked for later.
    void parts.use.beforeKill(cause).then(() => api.kill(container).catch(() => waiting.abort()));
    lastWords = setTimeout(parts.close, lastWordsMs);
    patience = setTimeout(() => waiting.abort(), patienceMs);
  };
  const breakOff = (thrown: unknown): void => {
    if (life.kind === 'ending') return;
    broken = engineLost(thrown);
    end('violation');
  };

  const lifetime = setTimeout(() => end('lifetime'), parts.ignoreDeadline ? 2 ** 31 - 1 : plan.limits.lifetimeMs);
  const streams = parts.open({ onBroken: breakOff, onEnd: parts.use.look });

  const ended = whenDead({
    api,
    container,
    signal: waiting.signal,
    onBroken: breakOff,
    isSameEngine: parts.isSameEngine,
    giveUpMs: parts.giveUpMs,
  }).then(async (death): Promise<CellEnd> => {
    const deadMs = performance.now();
    const ending = life.kind === 'ending' ? life : undefined;
    life = ending ?? { kind: 'ending', cause: 'self', sinceMs: deadMs };
    for (const timer of [lifetime, deadline, patience, lastWords]) clearTimeout(timer);
    const failed = ending === undefined && death.kind === 'stopped' && death.container.State.ExitCode !== 0;
    const counted = parts.use.final(failed ? 'failed' : 'ended');
    if (death.kind === 'lost') parts.onLost();
    const left = death.kind === 'lost' ? death.error : await parts.dismantle();
    const use = await counted;
    const why = explain(ending?.cause, death, use);
    const error = left ?? broken ?? why.error;
    // Of one that never ran there is nothing to read, and an engine may never say so.
    if (death.kind === 'lost' || why.cause === 'boot-failed') parts.close();
    else setTimeout(parts.close, leftoverMs).unref();
    return {
      cause: why.cause,
      exit: why.exit,
      pidsLimitHit: use.pidsLimitHit,
      peakMemoryBytes: use.peakMemoryBytes,
      peakPids: use.peakPids,
      teardownMs: performance.now() - (ending?.sinceMs ?? deadMs),
      ...(error === undefined ? {} : { error: error.toData() }),
    };
  });

  return {
    id: parts.id,
    facts: parts.facts,
    ...streams,
    async dispatch({ cpu, deadlineMs }) {
      checkDispatch(plan, { cpu, deadlineMs }, !dispatched);
      dispatched = true;
      if (life.kind === 'ending') return;
      // The deadline first: a limit that cannot be set must not leave a cell without one.
      if (!parts.ignoreDeadline)
        deadline = setTimeout(() => end('deadline'), Math.min(deadlineMs, plan.limits.lifetimeMs));
      if (cpu === initialCpu(plan)) return;
      try {
        await api.setLimits(container, containerLimits(plan, cpu));
      } catch (thrown) {
        // It ended meanwhile: then there is nothing to limit.
        if (hasEnded()) return;
        end('violation');
        throw new GloveboxError('CGROUP_UNAVAILABLE', {
          message: `Cannot set the share of processor time: ${toErrorData(thrown).message}`,
          cause: thrown,
        });
      }
    },
    kill: (cause) => end(cause),
    ended,
  };

  function hasEnded(): boolean {
    return life.kind === 'ending';
  }
}

type Death =
  | { kind: 'stopped'; container: EngineContainer }
  /** Somebody else removed it. */
  | { kind: 'gone' }
  | { kind: 'lost'; error: GloveboxError };

interface DeathWatch {
  api: EngineApi;
  container: string;
  /** Given up waiting for the engine to say it by itself. */
  signal: AbortSignal;
  onBroken(thrown: unknown): void;
  isSameEngine(): Promise<boolean>;
  giveUpMs: number;
}

/**
 * Wait until the engine says that the container has stopped. Where it goes away instead, or takes too long over a kill, ask it
 * and kill again until it confirms, or the time for that is over.
 */
async function whenDead(watch: DeathWatch): Promise<Death> {
  const { api, container, giveUpMs } = watch;
  let isSaid = false;
  try {
    await api.whenStopped(container, watch.signal);
    isSaid = true;
  } catch (thrown) {
    watch.onBroken(thrown);
  }
  let last: unknown;
  const started = performance.now();
  for (let pauseMs = 5; performance.now() - started < giveUpMs; pauseMs = Math.min(500, pauseMs * 2)) {
    try {
      const found = await api.inspect(container);
      if (found === undefined) {
        if (await watch.isSameEngine()) return { kind: 'gone' };
        throw anotherEngine();
      }
      if (!found.State.Running) return { kind: 'stopped', container: found };
      if (isSaid) watch.onBroken(restarted());
      isSaid = false;
      await api.kill(container);
    } catch (thrown) {
      last = thrown;
    }
    await sleep(pauseMs);
  }
  const why = last === undefined ? 'it still runs' : toErrorData(last).message;
  return {
    kind: 'lost',
    error: new GloveboxError('CELL_LOST', {
      message: `A cell could not be confirmed dead: ${why}`,
      hint: 'Run glovebox doctor once the container engine is back.',
      cause: last,
    }),
  };
}

const restarted = (): GloveboxError =>
  new GloveboxError('ENGINE_REFUSED', {
    message: 'The engine said that a cell had stopped, and it runs: somebody else started it again.',
  });

const engineLost = (thrown: unknown): GloveboxError =>
  GloveboxError.is(thrown)
    ? thrown
    : new GloveboxError('ENGINE_UNREACHABLE', {
        message: `The container engine broke off a connection to a cell: ${oneLine(String(thrown))}`,
        cause: thrown,
      });

interface Explanation {
  cause: CellEnd['cause'];
  exit: CellEnd['exit'];
  error?: GloveboxError;
}

function explain(cause: CellEnd['cause'] | undefined, death: Death, use: CellUse): Explanation {
  if (death.kind !== 'stopped') {
    const error = new GloveboxError('CELL_LOST', { message: 'Somebody else removed the container of a cell.' });
    const exit = { code: null, signal: null };
    return { cause: cause ?? 'violation', exit, ...(death.kind === 'gone' ? { error } : {}) };
  }
  const { State } = death.container;
  const exit = readExitCode(State.ExitCode);
  if (cause !== undefined) return { cause, exit };
  if (State.Error !== '' || State.Status === 'created') {
    const said = State.Error === '' ? 'it says that it did, and that there is none.' : oneLine(State.Error);
    const error = new GloveboxError('ENGINE_REFUSED', { message: `The engine started no process: ${said}` });
    return { cause: 'boot-failed', exit, error };
  }
  if ((State.OOMKilled || use.oomKilled) && State.ExitCode !== 0) return { cause: 'oom', exit };
  return { cause: 'self', exit };
}
