import type { CelldAnswer, CelldRequest } from '@glovebox/cell/celld-protocol';
import { GloveboxError } from '@glovebox/contract';
import type { House } from './house.ts';

/** What the probe cell of an inspection takes at most. */
const probeMemoryBytes = 128 * 1024 * 1024;

export interface HostRequests {
  answer(request: Extract<CelldRequest, { open: 'inspect' | 'sweep' | 'gauges' }>): Promise<CelldAnswer>;
  sweep(): Promise<Extract<CelldAnswer, { swept: unknown }>>;
}

/** Questions about the host. Each takes long, so it is under way once at a time, however many ask. */
export function createHostRequests(house: House): HostRequests {
  const { driver } = house;
  let sweeping: ReturnType<HostRequests['sweep']> | undefined;
  let isInspecting = false;

  const sweep: HostRequests['sweep'] = () => {
    sweeping ??= sweepHost(house).finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  };

  const inspect = async (
    image: string | undefined,
    cellClass: Parameters<typeof driver.inspect>[1],
  ): Promise<CelldAnswer> => {
    if (image !== undefined) house.images.require(image);
    if (isInspecting) throw new GloveboxError('CELLD_FULL', { message: 'The host is being inspected for another.' });
    // The driver boots the probe cell by itself, so what it takes is counted here.
    const share = house.quota.take({ memoryBytes: probeMemoryBytes });
    isInspecting = true;
    try {
      return { inspected: await driver.inspect(image, cellClass) };
    } finally {
      isInspecting = false;
      share.release();
    }
  };

  return {
    sweep,
    async answer(request) {
      if (request.open === 'inspect') return inspect(request.image, request.class);
      if (request.open === 'sweep') return sweep();
      return { gauges: await driver.gauges() };
    },
  };
}

async function sweepHost({ driver, quota }: House): Promise<Extract<CelldAnswer, { swept: unknown }>> {
  const swept = await driver.sweep();
  if ((await driver.gauges()).cells === 0) quota.forgetKept();
  return { swept };
}
