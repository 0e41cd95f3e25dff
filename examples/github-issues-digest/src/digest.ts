import type { Issue } from './issue.ts';
import type { StoppedBy } from './pages.ts';

export interface Summary {
  repository: string;
  state: 'open' | 'closed' | 'all';
  pages: number;
  issues: number;
  pullRequests: number;
  labels: { name: string; issues: number }[];
  stoppedBy: StoppedBy;
}

const notAll = {
  end: undefined,
  'page-budget': 'the pages that it may read were used up',
  'rate-limit': 'GitHub asked it to wait for longer than it may',
  time: 'its time was used up',
} as const satisfies { [By in StoppedBy]: string | undefined };

/** The digest as Markdown: how many, by label, and a line for each issue, in the order of the list. */
export function digestOf(summary: Summary, issues: readonly Issue[]): string {
  const { repository, state, pages, pullRequests, labels, stoppedBy } = summary;
  const which = state === 'all' ? 'issues' : `${state} issues`;
  const why = notAll[stoppedBy];
  const parts = [
    `# Issues of ${plain(repository)}`,
    `${summary.issues} ${which} on ${pages} pages; ${pullRequests} pull requests left out.`,
    ...(why === undefined ? [] : [`**Not all of them:** ${why}.`]),
    ...(labels.length === 0 ? [] : [labelTable(labels)]),
    ...(issues.length === 0 ? [] : [issues.map((issue) => lineOf(repository, issue)).join('\n')]),
  ];
  return `${parts.join('\n\n')}\n`;
}

const labelTable = (labels: Summary['labels']): string =>
  ['| label | issues |', '|---|---|', ...labels.map(({ name, issues }) => `| ${plain(name)} | ${issues} |`)].join('\n');

/** The link is made here and not taken from the answer: whoever reads the digest is led to GitHub. */
function lineOf(repository: string, { number, title, author, labels, comments, updatedAt }: Issue): string {
  const link = `[#${number}](https://github.com/${repository}/issues/${number})`;
  const of = [`by ${author}`, updatedAt.slice(0, 10), `${comments} comments`, ...labels].map(plain).join(', ');
  return `- ${link} ${plain(title)} (${of})`;
}

/** Anybody can open an issue: its text must stay one line, and must not become markup. */
const plain = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .replace(/[\\`*_{}[\]()<>#+!|~&]/g, '\\$&');
