import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { oneLine, table } from '../output.ts';
import { projectOf } from '../project.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const params = { project: projectOf(args) };
    const { nodes } = await client.call('nodes.list', { params, query: { limit: 200 } });
    output.result({ nodes }, () => {
      if (nodes.length === 0) return 'No nodes. Begin with glovebox node new, then glovebox node publish.';
      const rows = nodes.map(({ id, title, draft, releases }) => {
        const newest = releases.find(({ state }) => state !== 'revoked') ?? releases[0];
        return [
          id,
          newest === undefined ? '' : `${newest.version}${newest.state === 'active' ? '' : ` ${newest.state}`}`,
          String(releases.length),
          draft === null ? '' : `${draft.version} ${draft.state}`,
          oneLine(title),
        ];
      });
      return table(['node', 'newest', 'releases', 'draft', 'title'], rows, ['releases']);
    });
    return 0;
  } finally {
    await close();
  }
}
