import { formatDuration, formatSize } from '@glovebox/contract';
import { openImages } from '../adapters.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { asOwner, sweepDataDir } from '../sweep.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir);
  const { openInstance } = await import('@glovebox/artifact');
  await openInstance(config.dataDir);
  await asOwner(config.dataDir, () => sweepDataDir(config.dataDir));
  const images = await openImages(config);
  const started = performance.now();
  const built = await images.build({
    force: args.options.force === true,
    onProgress: (line) => {
      output.progress(line);
      output.event({ event: 'progress', message: line });
    },
  });
  output.result({ images: built }, () =>
    [
      ...built.map(({ kind, digest, sizeBytes }) => `${kind.padEnd(8)} ${digest}  ${formatSize(sizeBytes)}`),
      `in ${formatDuration(performance.now() - started)}`,
    ].join('\n'),
  );
  return 0;
}
