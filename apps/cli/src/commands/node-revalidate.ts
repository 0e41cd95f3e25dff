import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const params = releaseOf(args.positionals[0] as string, projectOf(args));
  const config = await loadConfig(args.global.dataDir);
  const signal = windUp();
  const { client, close } = await openApi(config);
  try {
    const answer = await client.call('releases.revalidate', { params, body: {}, signal });
    output.result(answer, () => {
      const { release, changed } = answer;
      return `${paint('green', changed ? 'revalidated' : 'unchanged')}  ${release.ref}\n  image  ${release.image}`;
    });
    return 0;
  } finally {
    await close();
  }
}
