/**
 * @returns runs actions, at most `atOnce` at a time, in order of arrival. An action whose signal is aborted while it waits
 *   is not run, and rejects with the signal's reason.
 */
export function concurrencyLimit(
  atOnce: number,
): <T>(action: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;

  const comeUp = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(go), 1);
        reject(signal?.reason);
      };
      waiting.push(go);
      signal?.addEventListener('abort', leave, { once: true });
    });

  return async (action, signal) => {
    signal?.throwIfAborted();
    if (running >= atOnce) await comeUp(signal);
    else running++;
    try {
      return await action();
    } finally {
      // The place is handed on, so that nobody slips in between.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
