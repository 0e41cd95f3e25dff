import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';

const stepTexts: Record<string, string> = {
  image: 'making the images',
  fixtures: 'running the fixtures in the image of today',
};

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const params = releaseOf(args.positionals[0] as string, projectOf(args));
  const config = await loadConfig(args.global.dataDir);
  const signal = windUp();
  const { client, close } = await openApi(config);
  try {
    const events = client.stream('releases.revalidate', { params, body: {}, windUp: signal });
    for await (const event of events) {
      if (event.event === 'step') output.progress(event.detail ?? stepTexts[event.step] ?? event.step);
      if (event.event !== 'result') continue;
      const { release, changed } = event.result;
      output.result(
        event.result,
        () => `${paint('green', changed ? 'revalidated' : 'unchanged')}  ${release.ref}\n  image  ${release.image}`,
      );
      return 0;
    }
    throw new GloveboxError('RESPONSE_INVALID', { message: 'The revalidation told no result.' });
  } finally {
    await close();
  }
}
