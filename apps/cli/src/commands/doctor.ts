import { accessSync, constants } from 'node:fs';
import { openInstance } from '@glovebox/artifact';
import type { CellDriver, CellGauges, HostFact, HostReport } from '@glovebox/cell';
import { acceptableRisks, type CellClass, GloveboxError, type InstanceId, newInstanceId } from '@glovebox/contract';
import type { ImageStore } from '@glovebox/engine';
import { openDriver, openImages } from '../adapters.ts';
import type { CommandContext } from '../commands.ts';
import { type Config, defaultConfig, loadConfig } from '../config.ts';
import { doctorText } from '../doctor-text.ts';
import { interruption } from '../interrupts.ts';
import type { Output } from '../output.ts';
import { asOwner, sweepDataDir } from '../sweep.ts';

/** What can make cells here, in one class: as configured first, then what could be had besides. */
interface Candidate {
  driver: CellDriver;
  cellClass: CellClass;
}

/** Looks at everything that it can: one lack does not hide the others. */
export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir).catch((error: unknown) => {
    // It may not be looked at: told below, with everything else.
    if (GloveboxError.is(error, 'DATA_DIR_UNUSABLE')) return defaultConfig(args.global.dataDir);
    throw error;
  });
  const signal = windUp();
  const [dataDirectory, instance] = await lookAtDataDirectory(config.dataDir);
  // Without an instance nothing is made on the host, and then its id stands nowhere.
  const owner = instance ?? newInstanceId();
  const driver = await openDriver(config, owner);
  const configured: Candidate = { driver, cellClass: config.cellClass };
  const candidates = [configured, ...(await otherCandidates(config, configured, owner))];
  output.progress('Looking at the host …');
  let reports = await Promise.all(candidates.map((each) => each.driver.inspect(undefined, each.cellClass)));
  // What is not configured and has nothing to run on is no news.
  const isThere = ({ facts }: HostReport, at: number): boolean => at === 0 || has(facts, 'runtime');
  const shown = candidates.filter((_, at) => isThere(reports[at] as HostReport, at));
  reports = reports.filter(isThere);

  const own = [dataDirectory];
  if (reports.some(({ usable }) => usable) && instance !== undefined) {
    const images = await openImages(config);
    const found = await Promise.race([probe(shown, reports, images, output), interruption(signal)]);
    reports = found.reports;
    own.push(found.images);
  }
  const [report] = reports as [HostReport, ...HostReport[]];
  const maySweep = report.usable && instance !== undefined;
  const swept = maySweep ? ((await asOwner(config.dataDir, () => driver.sweep())) ?? null) : null;
  if (signal.aborted) throw new GloveboxError('INTERRUPTED');
  const facts = [...own, ...report.facts];
  const usable = report.usable && own.every(({ state }) => state === 'in-force');
  const gauges = await countOf(driver);
  const { acceptedRisks } = config;
  output.result(
    { usable, driver: report.driver, class: report.class, facts, swept, gauges, acceptedRisks, drivers: reports },
    () =>
      doctorText({
        usable,
        configured: { ...report, facts },
        others: reports.slice(1),
        gauges,
        risks: acceptedRisks.map((risk) => `${risk}: ${acceptableRisks[risk]}`),
      }),
  );
  return usable ? 0 : 3;
}

const has = (facts: readonly HostFact[], name: string): boolean =>
  facts.some((fact) => fact.name === name && fact.state === 'in-force');

/** An OCI runtime in each class that it has, and a container engine whose address is known. */
async function otherCandidates(
  config: Config,
  { driver, cellClass }: Candidate,
  owner: InstanceId,
): Promise<Candidate[]> {
  const oci = config.driver === 'oci' ? driver : await openDriver({ ...config, driver: 'oci' }, owner);
  const others: Candidate[] = [
    { driver: oci, cellClass: 'ns' },
    { driver: oci, cellClass: 'gvisor' },
  ];
  if (config.docker !== undefined) {
    const docker = config.driver === 'docker' ? driver : await openDriver({ ...config, driver: 'docker' }, owner);
    others.push({ driver: docker, cellClass: 'ns' });
  }
  return others.filter((other) => other.driver !== driver || other.cellClass !== cellClass);
}

/** What is left of cells on this host now; null where that cannot be told. */
const countOf = (driver: CellDriver): Promise<CellGauges | null> =>
  driver.gauges().catch((error: unknown) => {
    if (GloveboxError.is(error)) return null;
    throw error;
  });

async function lookAtDataDirectory(
  dataDir: string,
): Promise<[HostFact, Awaited<ReturnType<typeof openInstance>>['instance'] | undefined]> {
  try {
    const { instance } = await openInstance(dataDir);
    if (!isWritable(dataDir)) throw new GloveboxError('DATA_DIR_UNUSABLE', { message: `${dataDir} is read-only.` });
    await asOwner(dataDir, () => sweepDataDir(dataDir));
    return [{ name: 'data-directory', required: true, state: 'in-force', detail: dataDir }, instance];
  } catch (error) {
    return [missing('data-directory', error), undefined];
  }
}

/** Make the images where they are missing, and boot for each candidate a cell that reads what it is. */
async function probe(
  candidates: readonly Candidate[],
  blind: readonly HostReport[],
  images: ImageStore,
  output: Output,
): Promise<{ reports: HostReport[]; images: HostFact }> {
  try {
    await images.build({ onProgress: (line) => output.progress(line) });
    const { digest } = await images.current('runtime');
    output.progress('Booting a probe cell …');
    const reports: HostReport[] = [];
    // One after the other: each has the host for itself, and is not judged by another's load.
    for (const { driver, cellClass } of candidates) reports.push(await driver.inspect(digest, cellClass));
    return { reports, images: { name: 'images', required: true, state: 'in-force', detail: `runtime ${digest}` } };
  } catch (error) {
    return { reports: [...blind], images: missing('images', error) };
  }
}

/** What a check that throws says is missing. What is no error of the host or the user is not ours to tell as a fact. */
function missing(name: string, error: unknown): HostFact {
  if (!(error instanceof GloveboxError)) throw error;
  const { message, hint } = error;
  return { name, required: true, state: 'missing', detail: message, ...(hint === undefined ? {} : { hint }) };
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
