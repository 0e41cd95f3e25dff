import { openInstance } from '@glovebox/artifact';
import type { CellDriver, HostFact, HostReport } from '@glovebox/cell';
import { GloveboxError, newInstanceId } from '@glovebox/contract';
import type { ImageStore } from '@glovebox/engine';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { interruption } from '../interrupts.ts';
import { openDriver, openImages, sweepDataDir } from '../local-engine.ts';
import { indented, type Output, paint } from '../output.ts';

const marks = {
  'in-force': ['green', '✓'],
  missing: ['red', '✗'],
  degraded: ['yellow', '!'],
  unknown: ['yellow', '?'],
} as const;

/** Looks at everything that it can: one lack does not hide the others. */
export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir);
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
  const swept = report.usable && instance !== undefined ? await driver.sweep() : null;
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
    await sweepDataDir(dataDir);
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

function factLines(facts: readonly HostFact[]): string {
  const width = Math.max(...facts.map(({ name }) => name.length));
  const indent = ' '.repeat(width + 6);
  return facts
    .map(({ name, state, detail, hint }) => {
      const [color, mark] = marks[state];
      const line = `  ${paint(color, mark)} ${name.padEnd(width)}  ${indented(detail, indent)}`;
      if (hint === undefined || state === 'in-force') return line;
      return `${line}\n${indent}${paint('cyan', 'hint')}: ${indented(hint, indent)}`;
    })
    .join('\n');
}
