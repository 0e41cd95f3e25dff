import type { HostReport } from '@glovebox/cell';
import type { CelldAnswer, CelldRequest } from '@glovebox/cell/celld-protocol';
import { GloveboxError } from '@glovebox/contract';
import { type House, requireOpen } from './house.ts';
import { paced } from './paced.ts';

/** What the probe cell of an inspection takes at most. */
const probeMemoryBytes = 128 * 1024 * 1024;

/** Different inspections that wait for one another. */
const mostInspections = 8;

/** Between two looks through the whole host, however many ask. */
const lookEveryMs = 1000;

type Host = Pick<House, 'driver' | 'images' | 'quota' | 'isStopping'>;
type Inspection = Extract<CelldRequest, { open: 'inspect' }>;

export interface HostRequests {
  answer(request: Extract<CelldRequest, { open: 'inspect' | 'sweep' | 'gauges' }>): Promise<CelldAnswer>;
  sweep(): Promise<Extract<CelldAnswer, { swept: unknown }>>;
  /** Resolves when no inspection is under way. */
  settled(): Promise<unknown>;
}

/** Questions about the host. Each takes long, so it is under way once at a time, however many ask. */
export function createHostRequests(house: Host): HostRequests {
  const { driver } = house;
  const inspections = new Map<string, Promise<HostReport>>();
  let last: Promise<unknown> = Promise.resolve();
  const sweep = paced(lookEveryMs, () => sweepHost(house));
  const gauges = paced(lookEveryMs, () => driver.gauges());

  const inspect = (request: Inspection): Promise<HostReport> => {
    if (request.image !== undefined) house.images.require(request.image);
    const key = `${request.class} ${request.image}`;
    const same = inspections.get(key);
    if (same !== undefined) return same;
    if (inspections.size >= mostInspections) {
      throw new GloveboxError('CELLD_FULL', { message: 'The host is being inspected for too many others.' });
    }
    const inspection = last
      .then(() => inspectHost(house, request, sweep))
      .finally(() => {
        inspections.delete(key);
      });
    last = inspection.catch(() => {});
    inspections.set(key, inspection);
    return inspection;
  };

  return {
    sweep,
    settled: () => last,
    async answer(request) {
      if (request.open === 'inspect') return { inspected: await inspect(request) };
      if (request.open === 'sweep') return sweep();
      return { gauges: await gauges() };
    },
  };
}

/** The driver boots the probe cell by itself, so what it takes is counted here. */
async function inspectHost(house: Host, request: Inspection, sweep: HostRequests['sweep']): Promise<HostReport> {
  requireOpen(house);
  const share = house.quota.take({ memoryBytes: probeMemoryBytes });
  let mayLive = true;
  try {
    const report = await house.driver.inspect(request.image, request.class);
    // A report does not tell what became of a probe cell that did not do what it should.
    mayLive = report.facts.some(({ name, state }) => name === 'probe-cell' && state !== 'in-force');
    return report;
  } finally {
    if (mayLive) {
      share.keep();
      sweep().catch(() => {});
    } else share.release();
  }
}

async function sweepHost({ driver, quota }: Host): Promise<Extract<CelldAnswer, { swept: unknown }>> {
  const swept = await driver.sweep();
  const forget = quota.keptUntilNow();
  if ((await driver.gauges()).cells === 0) forget();
  return { swept };
}
