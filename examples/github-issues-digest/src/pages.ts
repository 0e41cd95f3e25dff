import { type NodeContext, NodeError } from '@glovebox/sdk';
import { type Entry, readEntry } from './issue.ts';
import { nextLink } from './next-link.ts';
import { rateLimitWaitMs } from './rate-limit.ts';

/** Why no further page was asked for. `end`: there is none. */
export type StoppedBy = 'end' | 'page-budget' | 'rate-limit' | 'time';

export interface Pages {
  pages: number;
  entries: Entry[];
  stoppedBy: StoppedBy;
}

/** By `ctx.clock`: nothing is asked for, or waited for, past `endsAtMs`. */
export interface Budget {
  maxPages: number;
  endsAtMs: number;
}

type Context = Pick<NodeContext, 'fetch' | 'clock' | 'signal' | 'log' | 'progress'>;

type Page =
  | { kind: 'read'; entries: Entry[]; next: string | undefined }
  /** What would have come next does not fit into the time that is left. */
  | { kind: 'out-of-time'; stoppedBy: 'rate-limit' | 'time'; waitMs: number };

const headers = {
  accept: 'application/vnd.github+json',
  'user-agent': 'github-issues-digest',
  'x-github-api-version': '2022-11-28',
};

/**
 * Read a list page by page, each next one where the answer says that it is. What was read when a budget is used up is
 * given as it is; where that is nothing at all, it is an error that says when to come again.
 *
 * @throws NodeError `RATE_LIMITED`, `GITHUB_TOO_SLOW`, `GITHUB_UNAVAILABLE`, all retryable; `REPOSITORY_NOT_FOUND`, `GITHUB_REFUSED`,
 *   `ANSWER_UNREADABLE`, `LINK_ELSEWHERE`; and what `ctx.fetch` throws.
 */
export async function readPages(ctx: Context, first: string, { maxPages, endsAtMs }: Budget): Promise<Pages> {
  const entries: Entry[] = [];
  let url: string | undefined = first;
  let pages = 0;
  while (url !== undefined) {
    // Also for a list whose end never comes.
    if (pages === maxPages) return { pages, entries, stoppedBy: 'page-budget' };
    const page = await readPage(ctx, url, endsAtMs);
    if (page.kind === 'out-of-time') {
      if (pages === 0) throw nothingRead(page);
      return { pages, entries, stoppedBy: page.stoppedBy };
    }
    pages++;
    entries.push(...page.entries);
    ctx.progress({ message: `${pages} pages, ${entries.length} entries` });
    // An empty page is the last one, whatever it says of another.
    url = page.entries.length === 0 ? undefined : page.next;
  }
  return { pages, entries, stoppedBy: 'end' };
}

/** One page, asked for as often as it takes. */
async function readPage(ctx: Context, url: string, endsAtMs: number): Promise<Page> {
  for (let asked = 1; ; asked++) {
    const answer = await ask(ctx, url, endsAtMs);
    if (answer === undefined) return { kind: 'out-of-time', stoppedBy: 'time', waitMs: 0 };
    const { response, text } = answer;
    const waitMs = rateLimitWaitMs(response, text, { nowMs: ctx.clock.now(), asked });
    if (waitMs === undefined) return pageOf(response, text, url);
    if (ctx.clock.now() + waitMs >= endsAtMs) return { kind: 'out-of-time', stoppedBy: 'rate-limit', waitMs };
    ctx.log.info('waiting, as GitHub asks', { status: response.status, waitMs });
    await ctx.clock.sleep(waitMs);
  }
}

/** @returns undefined where there is no whole answer in time. */
async function ask(
  { fetch, clock, signal }: Context,
  url: string,
  endsAtMs: number,
): Promise<{ response: Response; text: string } | undefined> {
  const leftMs = endsAtMs - clock.now();
  if (leftMs <= 0) return undefined;
  const late = AbortSignal.timeout(leftMs);
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.any([signal, late]) });
    return { response, text: await response.text() };
  } catch (error) {
    if (late.aborted && !signal.aborted) return undefined;
    throw error;
  }
}

function pageOf(response: Response, text: string, url: string): Page {
  const { status } = response;
  if (status === 404 || status === 410)
    throw new NodeError('REPOSITORY_NOT_FOUND', `GitHub has no such list of issues, or shows it to nobody: ${url}`);
  if (status >= 500) throw new NodeError('GITHUB_UNAVAILABLE', `GitHub answers ${status}`, { retryable: true });
  if (status < 200 || status >= 300)
    throw new NodeError('GITHUB_REFUSED', `GitHub answers ${status}`, {
      details: { status, said: text.slice(0, 300) },
    });
  // 204, and an answer without a body, say that nothing is there, as `[]` does.
  const entries = text.trim() === '' ? [] : entriesOf(text);
  return { kind: 'read', entries, next: nextLink(response.headers.get('link'), url) };
}

function entriesOf(text: string): Entry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NodeError('ANSWER_UNREADABLE', 'the answer is no JSON');
  }
  if (Array.isArray(value)) return value.map(readEntry);
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return [];
  throw new NodeError('ANSWER_UNREADABLE', 'the answer is no list');
}

function nothingRead({ stoppedBy, waitMs }: Extract<Page, { kind: 'out-of-time' }>): NodeError {
  if (stoppedBy === 'time') return new NodeError('GITHUB_TOO_SLOW', 'no answer in time', { retryable: true });
  const seconds = Math.ceil(waitMs / 1000);
  return new NodeError(
    'RATE_LIMITED',
    `GitHub asks to come again in ${seconds} s, which is past the time that is left`,
    {
      retryable: true,
      retryAfter: Math.min(waitMs, longestRetryAfterMs),
    },
  );
}

/** The most that an error may ask for: a day. */
const longestRetryAfterMs = 86_400_000;
