import { Socket } from 'node:net';
import { GloveboxError } from '@glovebox/contract';

/** Set by the launcher: the descriptor whose end tells that the launcher is gone, and each byte that a signal came to it. */
const lifelineName = 'GLOVEBOX_LIFELINE';

export const exitInterrupted = 130;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Interrupts {
  /** From now on the first interrupt does not end the process but aborts the signal. */
  windUp(): AbortSignal;
  /** Abort that signal for a reason of our own; the process is not ended. */
  abort(reason: string): void;
}

/**
 * Take over SIGINT, SIGTERM and SIGHUP. Once there is something to wind up the first is told by a signal, and the
 * second ends the process at once, as each does before: the kernel kills every cell of ours with it. So does the death of
 * the launcher.
 *
 * A terminal sends Ctrl-C to both processes and `kill` to one of them, so what each has seen is counted apart and the
 * higher count holds: nothing counts twice, and nothing is missed.
 */
export function listenForInterrupts(): Interrupts {
  const abort = new AbortController();
  let graceful = false;
  let direct = 0;
  let forwarded = 0;
  const update = (): void => {
    const count = Math.max(direct, forwarded);
    if (count > 1 || !graceful) leave();
    abort.abort('interrupted');
  };
  for (const name of signals) {
    process.on(name, () => {
      direct++;
      update();
    });
  }
  const descriptor = Number(process.env[lifelineName]);
  delete process.env[lifelineName];
  const lifeline = openLifeline(descriptor);
  lifeline?.on('data', (bytes) => {
    forwarded += bytes.length;
    update();
  });
  lifeline?.on('error', () => undefined);
  lifeline?.on('close', leave);
  lifeline?.unref();
  return {
    windUp: () => {
      graceful = true;
      return abort.signal;
    },
    abort: (reason) => abort.abort(reason),
  };
}

/**
 * End at once, by the signal itself: process.exit() would wait for whatever a thread of the pool is blocked in, such as a
 * pipe that nobody writes to. The launcher and every shell tell it as 130.
 */
function leave(): void {
  for (const name of signals) process.removeAllListeners(name);
  process.kill(process.pid, 'SIGINT');
}

function openLifeline(descriptor: number): Socket | undefined {
  if (!Number.isInteger(descriptor) || descriptor < 3) return undefined;
  try {
    return new Socket({ fd: descriptor, readable: true, writable: false });
  } catch {
    // The variable was set by someone else: without a launcher there is nothing to hold on to.
    return undefined;
  }
}

/** Rejects with `INTERRUPTED` when the signal is aborted: to race what cannot be told. */
export function interruption(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const interrupt = (): void => reject(new GloveboxError('INTERRUPTED'));
    if (signal.aborted) interrupt();
    else signal.addEventListener('abort', interrupt, { once: true });
  });
}
