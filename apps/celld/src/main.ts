import { errorCatalogue, toErrorData } from '@glovebox/contract';
import type { HostRequests } from './host-requests.ts';
import { openHouse, patience } from './house.ts';
import { openImages } from './images.ts';
import { readInstance } from './instance.ts';
import { listen } from './listen.ts';
import { openDriver } from './open-driver.ts';
import { requireOpenFiles } from './open-files.ts';
import { requirePlaces } from './places.ts';
import { createQuota } from './quota.ts';
import { createCelldServer } from './serve.ts';
import { help, readSettings, type Settings } from './settings.ts';
import { stopOnSignal } from './stop.ts';

// Whoever read what it says may go away: it is no reason to end all cells.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

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
  requireOpenFiles(settings.maxCells);
  requirePlaces(settings);
  const images = openImages(settings.imagesDirectory);
  const driver = await openDriver(settings, readInstance(settings.runDirectory), images);
  const { maxCells, maxMemoryBytes } = settings;
  const quota = createQuota({ cells: maxCells, memoryBytes: maxMemoryBytes });
  const house = openHouse({ driver, images, quota, patience });
  const server = createCelldServer({ house, maxCells });
  await listen(server, settings.socketPath, settings.groupId);
  stopOnSignal(server, house);
  await sweep(house.requests);
  setInterval(() => void sweep(house.requests), settings.sweepEveryMs);
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
