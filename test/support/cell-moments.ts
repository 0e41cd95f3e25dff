import type { Cell } from '@glovebox/cell';

/** What a driver sees of a builder cell: its boot, its first word on the channel, the first word to the bundler, the kill when it is done. */
export type Moment = 'boot' | 'unpack' | 'bundle' | 'teardown';

/** The same cell. `onMoment` is called once for each moment, before it takes effect. */
export function watchMoments(cell: Cell, onMoment: (moment: Moment) => void): Cell {
  const seen = new Set<Moment>();
  const at = (moment: Moment): void => {
    if (!seen.has(moment)) onMoment(moment);
    seen.add(moment);
  };
  at('boot');
  actBefore(cell.channel, 'push', () => at('unpack'));
  if (cell.stdin !== null) actBefore(cell.stdin, 'write', () => at('bundle'));
  return {
    ...cell,
    kill: (cause) => {
      if (cause === 'done') at('teardown');
      cell.kill(cause);
    },
  };
}

/** Do something before each call of a method of a stream. */
function actBefore<M extends string>(
  stream: { [method in M]: (...args: never[]) => boolean },
  method: M,
  act: () => void,
): void {
  const original = stream[method].bind(stream);
  stream[method] = (...args) => {
    act();
    return original(...args);
  };
}
