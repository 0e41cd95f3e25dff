import type { Job } from '@glovebox/contract';
import type { AttemptPorts } from '@glovebox/engine';
import { type AttemptOptions, attempt, type BuiltNode, requireSuccess } from './built-node.ts';

/** From the boot of a fresh cell to the whole output, in milliseconds. */
export async function coldCell(
  ports: AttemptPorts,
  node: BuiltNode,
  input: Job['input'],
  options: Pick<AttemptOptions, 'cellClass' | 'grant'> = {},
): Promise<number> {
  const started = performance.now();
  let resultAt = 0;
  const onPhase = (phase: string): void => {
    if (phase === 'teardown') resultAt = performance.now();
  };
  requireSuccess(await attempt(ports, node, input, { ...options, events: { onPhase } }));
  return resultAt - started;
}
