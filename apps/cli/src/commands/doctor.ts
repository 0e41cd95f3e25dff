import { openInstance } from '@glovebox/artifact';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openDriver, openImages } from '../local-engine.ts';
import { paint, printable } from '../output.ts';

const marks = {
  'in-force': ['green', '✓'],
  missing: ['red', '✗'],
  degraded: ['yellow', '!'],
  unknown: ['yellow', '?'],
} as const;

export async function run({ args, output }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir);
  const { instance } = await openInstance(config.dataDir);
  const images = await openImages(config);
  const driver = await openDriver(config, instance);
  output.progress('Looking at the host …');
  const first = await driver.inspect();
  let report = first;
  if (first.usable) {
    await images.build({ onProgress: (line) => output.progress(line) });
    output.progress('Booting a probe cell …');
    report = await driver.inspect((await images.current('runtime')).digest);
  }
  const swept = first.usable ? await driver.sweep() : undefined;
  output.result(
    { usable: report.usable, driver: report.driver, facts: report.facts, swept: swept ?? null, acceptedRisks: [] },
    () => {
      const width = Math.max(...report.facts.map(({ name }) => name.length));
      const lines = report.facts.map((fact) => {
        const [color, mark] = marks[fact.state];
        const hint =
          fact.hint === undefined || fact.state === 'in-force'
            ? ''
            : `\n    ${' '.repeat(width)}  ${paint('cyan', 'hint')}: ${printable(fact.hint)}`;
        return `  ${paint(color, mark)} ${fact.name.padEnd(width)}  ${printable(fact.detail)}${hint}`;
      });
      const verdict = report.usable
        ? paint('green', 'This host can run cells.')
        : paint('red', 'This host cannot run cells.');
      return `driver ${report.driver}\n${lines.join('\n')}\n\n${verdict}`;
    },
  );
  return report.usable ? 0 : 3;
}
