import { setTimeout as sleep } from 'node:timers/promises';
import { type ConformanceResult, cellPaths } from '@glovebox/cell';
import { type CellPlan, newCellId } from '@glovebox/contract';
import { type BootContext, type BootedCell, bootCell } from './boot.ts';

const MiB = 1024 * 1024;
const cpu = 0.5;
const spinMs = 500;
const attempts = 3;

/** Half a core, few threads and little memory, for a program of ours that goes against them. */
const witnessPlan = (image: string, cellClass: CellPlan['class']): CellPlan => ({
  schema: 'glovebox.cell-plan/1',
  role: 'probe',
  class: cellClass,
  image,
  limits: {
    cpu,
    bootCpu: cpu,
    memoryBytes: 96 * MiB,
    pids: 16,
    scratchBytes: MiB,
    scratchInodes: 64,
    openFiles: 64,
    lifetimeMs: 20_000,
  },
});

/**
 * First it takes what processor time it gets and tells how much of a core that was. Then it asks for more threads than it may
 * have: the library aborts when it is refused one, and where all come it ends in peace.
 */
const witness = `
const begun = performance.now();
const before = process.cpuUsage();
while (performance.now() - begun < ${spinMs});
const used = process.cpuUsage(before);
process.stdout.write(String((used.user + used.system) / 1000 / (performance.now() - begun)));
process.env.UV_THREADPOOL_SIZE = '64';
require('node:fs').readFile('/proc/self/stat', () => process.exit(0));
`;

/**
 * Whether limits are in force, by what becomes of a cell that goes against them, and for memory by what the engine's host counts
 * by. It lives long enough to be looked at, however busy the host is.
 */
export async function judgeLimitsByEffect(context: BootContext, image: string): Promise<ConformanceResult[]> {
  for (let attempt = 1; ; attempt++) {
    const results = await judgeOnce(context, image);
    // A busy engine may not come to looking at a cell while it lives: only what is lacking each time is lacking.
    if (attempt === attempts || results.every(({ violations }) => violations.length === 0)) return results;
  }
}

async function judgeOnce(context: BootContext, image: string): Promise<ConformanceResult[]> {
  const plan = witnessPlan(image, context.facts.class);
  const command = [cellPaths.node, '--eval', witness];
  const cell = await bootCell(context, plan, newCellId(), command);
  let said = '';
  cell.stdout.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(0, 100);
  });
  cell.stderr.resume();
  const { memory, periods } = await whatIsCounted(context, cell);
  const { exit } = await cell.ended;
  const share = Number.parseFloat(said);
  const judged = (property: string, claim: string, holds: boolean, found: string): ConformanceResult => ({
    property,
    claim,
    violations: holds ? [] : [found],
  });
  return [
    judged(
      'cgroup-memory',
      'is counted by its memory limit',
      memory === plan.limits.memoryBytes,
      `the engine's host counts by ${memory ?? 'none'}`,
    ),
    judged(
      'cgroup-pids',
      'has its threads counted, and gets no more than its limit',
      // The first process of a pid namespace survives its own SIGABRT, and then the library's last word.
      exit.signal === 'SIGABRT' || exit.signal === 'SIGSEGV',
      `one that asked for more threads than it may have ended with ${exit.signal ?? exit.code}`,
    ),
    // Some of the first period is left to it. On a busy host one without a quota gets no more: it is not counted in periods.
    judged(
      'cgroup-cpu',
      'has its processor time counted, and gets no more than its share',
      share > 0 && share < (cpu + 1) / 2 && (context.facts.kind === 'podman' || periods > 0),
      `one that may have ${cpu} of a core had ${said === '' ? 'nothing to tell' : said}, counted in ${periods} periods`,
    ),
  ];
}

interface Counted {
  memory: number | undefined;
  /** In how many periods its processor time was held against a quota. Podman does not tell. */
  periods: number;
}

/** While it spins, the engine has the time to look; when it has ended there is nothing to see. */
async function whatIsCounted({ api, facts }: BootContext, { container, ended }: BootedCell): Promise<Counted> {
  const seen: Counted = { memory: undefined, periods: 0 };
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  for (; !isOver; await sleep(20)) {
    const stats = await api.stats(container, 2_000).catch(() => undefined);
    const limit = stats?.memory_stats?.limit;
    if (limit !== undefined && limit > 0) seen.memory = limit;
    seen.periods = Math.max(seen.periods, stats?.cpu_stats?.throttling_data?.periods ?? 0);
    if (seen.memory !== undefined && (facts.kind === 'podman' || seen.periods > 0)) break;
  }
  return seen;
}
