import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { type Cell, type CellEnd, type CellFacts, checkDispatch, readExitCode } from '@glovebox/cell';
import { type CellId, type CellPlan, GloveboxError } from '@glovebox/contract';
import type { CellCgroup, CgroupUse } from './cell-cgroup.ts';
import type { CellFolder } from './cell-folder.ts';
import type { Launched } from './launch.ts';
import { readRuntimeErrors, runtimeError } from './runtime-log.ts';

/** Where a cell stands. Only the first reason to kill counts; what comes later finds it ending. */
type Life = { kind: 'running' } | { kind: 'ending'; cause: CellEnd['cause']; sinceMs: number };

export interface RunningCellParts {
  id: CellId;
  plan: CellPlan;
  facts: CellFacts;
  launched: Launched;
  cgroup: CellCgroup;
  folder: CellFolder;
  /** Time from now in which the runtime must have made the container. */
  bootDeadlineMs: number;
  /** Remove every trace once the process tree is confirmed dead. @returns what could not be removed. */
  dismantle(): Promise<GloveboxError | undefined>;
  /** Read and then removed with the cgroups: called when no process is left, or the wait for that is given up. */
  awaitEmpty(): Promise<void>;
  ignoreDeadline: boolean;
}

/**
 * A cell whose process tree has been started. The driver owns its time: lifetime from the boot, deadline from the
 * dispatch, both on the monotonic clock of the event loop.
 */
export function superviseCell(parts: RunningCellParts): Cell {
  const { plan, launched, cgroup, folder } = parts;
  const { child } = launched;
  let life: Life = { kind: 'running' };
  let deadline: NodeJS.Timeout | undefined;
  let dispatched = false;

  const end = (cause: CellEnd['cause']): void => {
    if (life.kind === 'ending') return;
    life = { kind: 'ending', cause, sinceMs: performance.now() };
    // Our own child, not reaped yet, or this does nothing: no other process can have its pid.
    child.kill('SIGKILL');
  };

  const lifetime = setTimeout(() => end('lifetime'), parts.ignoreDeadline ? 2 ** 31 - 1 : plan.limits.lifetimeMs);
  const boot = setTimeout(() => {
    if (!existsSync(folder.pidFile)) end('boot-failed');
  }, parts.bootDeadlineMs);

  const ended = whenExited(child).then(async (exit): Promise<CellEnd> => {
    const exitedMs = performance.now();
    clearTimeout(lifetime);
    clearTimeout(boot);
    clearTimeout(deadline);
    const ending = life.kind === 'ending' ? life : undefined;
    life = ending ?? { kind: 'ending', cause: 'self', sinceMs: exitedMs };
    await parts.awaitEmpty();
    const use = cgroup.readUse();
    const why = ending === undefined ? explainExit(exit, use, folder) : explainKill(ending.cause, folder);
    const left = await parts.dismantle();
    // That something may be left counts for more than why it did not come up.
    const error = left ?? why.error;
    return {
      cause: why.cause,
      exit: asCellExit(exit),
      pidsLimitHit: use.pidsLimitHit,
      peakMemoryBytes: use.peakMemoryBytes,
      peakPids: use.peakPids,
      teardownMs: performance.now() - (ending?.sinceMs ?? exitedMs),
      ...(error === undefined ? {} : { error: error.toData() }),
    };
  });

  return {
    id: parts.id,
    facts: parts.facts,
    channel: launched.channel,
    stdout: launched.stdout,
    stderr: launched.stderr,
    stdin: launched.stdin,
    async dispatch({ cpu, deadlineMs }) {
      checkDispatch(plan, { cpu, deadlineMs }, !dispatched);
      dispatched = true;
      if (life.kind === 'ending') return;
      // The deadline first: a limit that cannot be set must not leave a cell without one.
      if (!parts.ignoreDeadline)
        deadline = setTimeout(() => end('deadline'), Math.min(deadlineMs, plan.limits.lifetimeMs));
      try {
        cgroup.setCpu(cpu);
      } catch (thrown) {
        end('violation');
        throw new GloveboxError('CGROUP_UNAVAILABLE', {
          message: 'Cannot set the share of processor time.',
          cause: thrown,
        });
      }
    },
    kill: (cause) => end(cause),
    ended,
  };
}

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

function whenExited(child: ChildProcess): Promise<Exit> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve({ code: child.exitCode, signal: child.signalCode });
  }
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

interface Explanation {
  cause: CellEnd['cause'];
  error?: GloveboxError;
}

function explainKill(cause: CellEnd['cause'], folder: CellFolder): Explanation {
  if (cause !== 'boot-failed') return { cause };
  return { cause, error: runtimeError(readRuntimeErrors(folder.log), 'it made no container in time') };
}

/** It ended by itself. In this order: killed for memory, never started, started and ended. */
function explainExit(exit: Exit, use: CgroupUse, folder: CellFolder): Explanation {
  const killed = exit.signal === 'SIGKILL' || exit.code === 128 + constants.signals.SIGKILL;
  if (use.oomKills > 0 && (killed || exit.code !== 0)) return { cause: 'oom' };
  const messages = readRuntimeErrors(folder.log);
  if (messages.length > 0 || !existsSync(folder.pidFile)) {
    return {
      cause: 'boot-failed',
      error: runtimeError(messages, `it ended with ${exit.code ?? exit.signal} and made no container`),
    };
  }
  // The counter may be gone with a cgroup of the runtime's own. Nobody else kills a cell that has come up to its limit.
  if (killed && use.memoryLimitReached) return { cause: 'oom' };
  return { cause: 'self' };
}

const asCellExit = ({ code, signal }: Exit): CellEnd['exit'] => (code === null ? { code, signal } : readExitCode(code));
