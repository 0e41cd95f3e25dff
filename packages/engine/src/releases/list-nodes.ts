import type { Draft, Release } from '@glovebox/contract';
import type { Engine } from '../engine.ts';

/** Most nodes of one answer, and releases that are read at a time. */
export const maxNodes = 200;
const releasePage = 200;
/** No version is lower, so nothing of an id comes after it. */
const lowestVersion = '0.0.0-0';

/** A node of a project: what is worked on and what is released of it. One of the two is there. */
export interface NodeSummary {
  project: string;
  id: string;
  title: string;
  draft: Draft | null;
  /** Newest version first. */
  releases: Release[];
}

/**
 * Nodes of one project by id, ascending.
 *
 * @param query `after` is the id of the last node that was read; `limit` at most maxNodes.
 */
export async function listNodes(
  engine: Pick<Engine, 'drafts' | 'releases'>,
  query: { project: string; after?: string; limit?: number },
): Promise<NodeSummary[]> {
  const { project, after } = query;
  const limit = Math.min(query.limit ?? maxNodes, maxNodes);
  const drafts = await engine.drafts.list({ project, limit, ...(after === undefined ? {} : { after }) });
  const nodes = new Map<string, NodeSummary>();
  for (const draft of drafts) nodes.set(draft.id, { project, id: draft.id, title: draft.title, draft, releases: [] });
  // A full page of drafts ends the answer: what is released after its last one may have a draft that was not read.
  const lastId = drafts.length < limit ? undefined : drafts.at(-1)?.id;
  let full = 0;
  for await (const release of releasesAfter(engine, project, after)) {
    if (lastId !== undefined && release.id > lastId) break;
    const node = nodes.get(release.id);
    if (node !== undefined) node.releases.push(release);
    else {
      if (full++ >= limit) break;
      nodes.set(release.id, { project, id: release.id, title: release.title, draft: null, releases: [release] });
    }
  }
  return [...nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
}

async function* releasesAfter(
  { releases }: Pick<Engine, 'releases'>,
  project: string,
  afterId: string | undefined,
): AsyncGenerator<Release> {
  let after = afterId === undefined ? undefined : { id: afterId, version: lowestVersion };
  for (;;) {
    const page = await releases.list({ project, limit: releasePage, ...(after === undefined ? {} : { after }) });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < releasePage) return;
    after = { id: last.id, version: last.version };
  }
}
