import type { Client } from '@glovebox/client';
import type { NodeSummaryView } from '@glovebox/contract/routes';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { oneLine, table } from '../output.ts';
import { projectOf } from '../project.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const nodes = await allNodes(client, projectOf(args));
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

/** Page by page, as many as there are. */
async function allNodes(client: Client, project: string): Promise<NodeSummaryView[]> {
  const all: NodeSummaryView[] = [];
  for (;;) {
    const last = all.at(-1)?.id;
    const query = { limit: pageSize, ...(last === undefined ? {} : { after: last }) };
    const { nodes } = await client.call('nodes.list', { params: { project }, query });
    all.push(...nodes);
    if (nodes.length < pageSize) return all;
  }
}

const pageSize = 200;
