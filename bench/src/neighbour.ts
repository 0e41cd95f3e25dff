import type { AttemptPorts } from '@glovebox/engine';
import { attempt, type BuiltNode, requireSuccess } from './built-node.ts';

/** Enough for the median to stand still. */
const jobs = 25;

/** What one fixed job takes in a cell, by the clock in it: the middle of many. */
export async function jobMs(ports: AttemptPorts, node: BuiltNode): Promise<number> {
  const { outputText } = requireSuccess(await attempt(ports, node, { jobs }));
  const { takenMs } = JSON.parse(outputText ?? '{}') as { takenMs: number[] };
  const middle = takenMs.toSorted((a, b) => a - b)[takenMs.length >> 1];
  if (middle === undefined) throw new Error('the node measured nothing');
  return middle;
}

/** The same beside a second cell that takes all that its limits allow. */
export async function jobMsBesideHog(ports: AttemptPorts, node: BuiltNode): Promise<number> {
  const enough = new AbortController();
  const on = Promise.withResolvers<void>();
  const hog = attempt(ports, node, {}, { signal: enough.signal, events: { onLog: () => on.resolve() } });
  const ended = hog.then(
    ({ state, error }) => Promise.reject(new Error(`the hog ended: ${state} ${error?.message ?? ''}`)),
    (error: unknown) => Promise.reject(error),
  );
  // It is read only where it comes first.
  ended.catch(() => undefined);
  try {
    await Promise.race([on.promise, ended]);
    return await Promise.race([jobMs(ports, node), ended]);
  } finally {
    enough.abort('enough');
    await hog.catch(() => undefined);
  }
}
