import { errorCatalogue, toErrorData } from '@glovebox/contract';
import { createHostRequests, type HostRequests } from './host-requests.ts';
import { type House, patience } from './house.ts';
import { openImages } from './images.ts';
import { readInstance } from './instance.ts';
import { listen } from './listen.ts';
import { openDriver } from './open-driver.ts';
import { createQuota } from './quota.ts';
import { requirePrivateDirectory } from './safe-place.ts';
import { createCelldServer } from './serve.ts';
import { help, readSettings, type Settings } from './settings.ts';
import { stopOnSignal } from './stop.ts';

try {
  const settings = readSettings(process.argv.slice(2));
  if (settings === undefined) process.stdout.write(help);
  else await start(settings);
} catch (thrown) {
  const { code, message, hint } = toErrorData(thrown);
  tell(`error ${code}: ${message}\n  hint: ${hint}`);
  if (code === 'INTERNAL') tell(String((thrown as Error).stack));
  process.exit(errorCatalogue[code].exit);
}

async function start(settings: Settings): Promise<void> {
  process.umask(0o077);
  requirePrivateDirectory(settings.runDirectory);
  const images = openImages(settings.imagesDirectory);
  const driver = await openDriver(settings, readInstance(settings.runDirectory), images);
  const { maxCells, maxMemoryBytes } = settings;
  const quota = createQuota({ cells: maxCells, memoryBytes: maxMemoryBytes });
  const house: House = { driver, images, quota, sessions: new Map(), patience };
  const requests = createHostRequests(house);
  const server = createCelldServer({ house, requests, maxCells });
  await listen(server, settings.socketPath, settings.groupId);
  stopOnSignal(server, house);
  await sweep(requests);
  setInterval(() => void sweep(requests), settings.sweepEveryMs);
  process.stdout.write(`celld ready at ${settings.socketPath}, cells by ${driver.name}\n`);
}

/** What cannot be swept now may be later, and boots meanwhile: every name on the host tells whose it is. */
async function sweep(requests: HostRequests): Promise<void> {
  try {
    const { removed } = (await requests.sweep()).swept;
    if (Object.values(removed).some((count) => count > 0)) tell(`swept ${JSON.stringify(removed)}`);
  } catch (thrown) {
    const { code, message } = toErrorData(thrown);
    tell(`cannot sweep: ${code}: ${message}`);
  }
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}
