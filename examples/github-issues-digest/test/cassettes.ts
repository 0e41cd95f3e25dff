import type { Cassette, CassetteEntry } from '@glovebox/sdk/testing';

export const config = { owner: 'octo-org', repo: 'widgets' };

/** What is asked for first with that config. */
export const first = 'https://api.github.com/repos/octo-org/widgets/issues?state=open&per_page=100';
export const page = (number: number): string =>
  `https://api.github.com/repositories/7/issues?per_page=100&page=${number}`;
export const next = (number: number): { link: string } => ({
  link: `<${page(number)}>; rel="next", <${page(9)}>; rel="last"`,
});

export const issue = (number: number, more: object = {}): object => ({
  number,
  title: `Issue ${number}`,
  user: { login: 'alice' },
  labels: [],
  comments: 0,
  updated_at: '2026-01-01T00:00:00Z',
  ...more,
});

/** @param body as JSON; undefined for none. */
export function answer(
  url: string,
  body: unknown,
  headers: { [name: string]: string } = {},
  status = 200,
): CassetteEntry {
  const text = body === undefined ? {} : { body: { text: JSON.stringify(body) } };
  return { request: { method: 'GET', url }, response: { status, headers, ...text } };
}

export const cassetteOf = (entries: CassetteEntry[]): Cassette => ({ schema: 'glovebox.cassette/1', entries });
