import { formatSize } from '@glovebox/contract';
import { openImages } from '../adapters.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const images = await openImages(await loadConfig(args.global.dataDir));
  // First, as it tells more of an image that is damaged than that it is of no use.
  if (args.options.verify === true) for (const kind of ['runtime', 'builder'] as const) await images.verify(kind);
  const shown = [await images.current('runtime'), await images.current('builder')];
  output.result({ images: shown, verified: args.options.verify === true }, () =>
    shown
      .map(({ kind, digest, sizeBytes, createdAtMs, contents, rootfs }) => {
        const parts = Object.entries(contents).map(([name, version]) => `    ${name.padEnd(24)} ${version}`);
        return `${kind}  ${digest}\n    ${formatSize(sizeBytes)}, made ${new Date(createdAtMs).toISOString()}\n    ${rootfs}\n${parts.join('\n')}`;
      })
      .join('\n\n'),
  );
  return 0;
}
