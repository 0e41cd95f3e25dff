import type { EgressLog } from '@glovebox/engine';

type Append = EgressLog['append'];
type Records = Parameters<Append>[0];

/** Most records of one transaction, as far as calls can be taken apart. */
const maxRecords = 1000;

interface Call {
  readonly records: Records;
  readonly settled: PromiseWithResolvers<void>;
}

/**
 * Appends of many attempts in few transactions. Each of these has to reach the disk before anything leaves, and while one does, the
 * calls of all others gather for the next.
 *
 * Each call is kept as a whole or not at all, in their order; where a group is refused, its calls go one by one, so that none
 * fails for another. `idle` resolves when nothing waits any more; undefined where nothing does.
 */
export function groupAppends(append: Append): { append: Append; idle(): Promise<void> | undefined } {
  const waiting: Call[] = [];
  let writing: Promise<void> | undefined;

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = takeGroup(waiting);
      const whole = await attempt(append, group);
      if (whole === 'refused') for (const call of group) await attempt(append, [call]);
    }
    writing = undefined;
  };
  return {
    append(records) {
      const call: Call = { records, settled: Promise.withResolvers() };
      waiting.push(call);
      writing ??= writeAll();
      return call.settled.promise;
    },
    idle: () => writing,
  };
}

/** The first calls, of which there is one at least. */
function takeGroup(waiting: Call[]): Call[] {
  let records = 0;
  const end = waiting.findIndex((call, at) => {
    records += call.records.length;
    return at > 0 && records > maxRecords;
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

/** Never rejects. A group that is refused has settled nobody yet. */
async function attempt(append: Append, group: readonly Call[]): Promise<'kept' | 'refused'> {
  try {
    await append(group.flatMap(({ records }) => records));
    for (const { settled } of group) settled.resolve();
    return 'kept';
  } catch (error) {
    if (group.length > 1) return 'refused';
    group[0]?.settled.reject(error);
    return 'kept';
  }
}
