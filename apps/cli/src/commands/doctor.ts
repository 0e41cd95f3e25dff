import { accessSync, constants } from 'node:fs';
import { openInstance } from '@glovebox/artifact';
import type { CellDriver, HostFact, HostReport } from '@glovebox/cell';
import { GloveboxError, newInstanceId } from '@glovebox/contract';
import type { ImageStore } from '@glovebox/engine';
import { openDriver, openImages } from '../adapters.ts';
import type { CommandContext } from '../commands.ts';
import { defaultConfig, loadConfig } from '../config.ts';
import { interruption } from '../interrupts.ts';
import { indented, type Output, paint } from '../output.ts';
import { asOwner, sweepDataDir } from '../sweep.ts';

const marks = {
  'in-force': ['green', '✓'],
  missing: ['red', '✗'],
  degraded: ['yellow', '!'],
  unknown: ['yellow', '?'],
} as const;

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
  const driver = await openDriver(config, instance ?? newInstanceId());
  output.progress('Looking at the host …');
  let report = await driver.inspect();
  const own = [dataDirectory];
  const images = await openImages(config);
  if (report.usable && instance !== undefined) {
    const found = await Promise.race([probe(driver, images, output), interruption(signal)]);
    report = found.report;
    own.push(found.images);
  }
  const maySweep = report.usable && instance !== undefined;
  const swept = maySweep ? ((await asOwner(config.dataDir, () => driver.sweep())) ?? null) : null;
  if (signal.aborted) throw new GloveboxError('INTERRUPTED');
  const facts = [...own, ...report.facts];
  const usable = report.usable && own.every(({ state }) => state === 'in-force');
  output.result({ usable, driver: report.driver, facts, swept, acceptedRisks: [] }, () => {
    const verdict = usable ? paint('green', 'This host can run cells.') : paint('red', 'This host cannot run cells.');
    return `driver ${report.driver}\n${factLines(facts)}\n\n${verdict}`;
  });
  return usable ? 0 : 3;
}

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

/** Make the images where they are missing, and boot a cell that reads what it is. */
async function probe(
  driver: CellDriver,
  images: ImageStore,
  output: Output,
): Promise<{ report: HostReport; images: HostFact }> {
  try {
    await images.build({ onProgress: (line) => output.progress(line) });
    const { digest } = await images.current('runtime');
    output.progress('Booting a probe cell …');
    const report = await driver.inspect(digest);
    return { report, images: { name: 'images', required: true, state: 'in-force', detail: `runtime ${digest}` } };
  } catch (error) {
    return { report: await driver.inspect(), images: missing('images', error) };
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

function factLines(facts: readonly HostFact[]): string {
  const unknown = facts.filter(({ state }) => state === 'unknown');
  const known = facts.filter(({ state }) => state !== 'unknown');
  const width = Math.max(...known.map(({ name }) => name.length));
  const indent = ' '.repeat(width + 6);
  const lines = known.map(({ name, required, state, detail, hint }) => {
    const [color, mark] = marks[state === 'missing' && !required ? 'degraded' : state];
    const line = `  ${paint(color, mark)} ${name.padEnd(width)}  ${indented(detail, indent)}`;
    if (hint === undefined || state === 'in-force') return line;
    return `${line}\n${indent}${paint('cyan', 'hint')}: ${indented(hint, indent)}`;
  });
  if (unknown.length === 0) return lines.join('\n');
  const [color, mark] = marks.unknown;
  const names = unknown.map(({ name }) => name).join(', ');
  return [...lines, `  ${paint(color, mark)} not probed yet: ${names}`].join('\n');
}
