import { defineNode } from '@glovebox/sdk';
import { digestOf } from './digest.ts';
import type { Issue } from './issue.ts';
import { readPages, type StoppedBy } from './pages.ts';

interface Input {
  since?: string;
}

interface Config {
  owner: string;
  repo: string;
  state?: 'open' | 'closed' | 'all';
  maxPages?: number;
  maxSeconds?: number;
}

interface Output {
  repository: string;
  state: 'open' | 'closed' | 'all';
  pages: number;
  issues: number;
  pullRequests: number;
  labels: { name: string; issues: number }[];
  truncated: boolean;
  stoppedBy: StoppedBy;
}

const maxLabels = 20;

export default defineNode<Input, Config, Output>(async (ctx) => {
  const { owner, repo, state = 'open', maxPages = 10, maxSeconds = 90 } = ctx.config;
  const first = new URL(`https://api.github.com/repos/${owner}/${repo}/issues`);
  first.searchParams.set('state', state);
  first.searchParams.set('per_page', '100');
  if (ctx.input.since !== undefined) first.searchParams.set('since', ctx.input.since);

  const endsAtMs = ctx.clock.now() + maxSeconds * 1000;
  const { pages, entries, stoppedBy } = await readPages(ctx, first.href, { maxPages, endsAtMs });
  const issues = entries.filter((entry) => entry.kind === 'issue');
  const summary = {
    repository: `${owner}/${repo}`,
    state,
    pages,
    issues: issues.length,
    pullRequests: entries.length - issues.length,
    labels: countLabels(issues).slice(0, maxLabels),
    truncated: stoppedBy !== 'end',
    stoppedBy,
  };
  await ctx.files.write('digest.md', digestOf(summary, issues), 'text/markdown; charset=utf-8');
  return summary;
});

/** The commonest first. */
function countLabels(issues: readonly Issue[]): Output['labels'] {
  const counts = new Map<string, number>();
  for (const { labels } of issues) for (const name of labels) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([name, count]) => ({ name, issues: count }));
}
