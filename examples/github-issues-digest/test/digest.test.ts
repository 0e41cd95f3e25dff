import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';
import { answer, cassetteOf, config, first, issue, page } from './cassettes.ts';

test('writes a line for each issue and none for a pull request, in the order of the list', async () => {
  const pull = { ...issue(2), pull_request: {} };
  const http = cassetteOf([answer(first, [issue(3, { labels: [{ name: 'bug' }, 'old'] }), pull, issue(1)])]);
  const result = await runNode(node, { input: {}, config, http });
  assert.ok(result.ok);
  assert.deepEqual([result.output.issues, result.output.pullRequests], [2, 1]);
  assert.deepEqual(result.output.labels, [
    { name: 'bug', issues: 1 },
    { name: 'old', issues: 1 },
  ]);
  const [file] = result.files;
  assert.equal(file?.name, 'digest.md');
  const lines = file?.text.split('\n').filter((line) => line.startsWith('- ')) ?? [];
  assert.deepEqual(
    lines.map((line) => /#(\d+)/.exec(line)?.[1]),
    ['3', '1'],
  );
});

test('lets no title out of its line, or become markup or a link', async () => {
  const title = 'a | b\n# c <script>x</script> [click](https://evil.example) `d`';
  const http = cassetteOf([answer(first, [issue(1, { title, html_url: 'https://evil.example' })])]);
  const result = await runNode(node, { input: {}, config, http });
  const text = result.files[0]?.text ?? '';
  assert.match(text, /^- \[#1\]\(https:\/\/github\.com\/octo-org\/widgets\/issues\/1\) a \\\| b \\# c \\<script\\>/m);
  assert.doesNotMatch(text, /^# c/m);
  assert.doesNotMatch(text, /[^\\]\]\(https:\/\/evil/);
});

test('asks for what its state and input say', async () => {
  const url =
    'https://api.github.com/repos/octo-org/widgets/issues?state=all&per_page=100&since=2026-01-01T00%3A00%3A00Z';
  const http = cassetteOf([answer(url, [])]);
  const input = { since: '2026-01-01T00:00:00Z' };
  const result = await runNode(node, { input, config: { ...config, state: 'all' }, http });
  assert.ok(result.ok);
  assert.deepEqual(result.requests, [{ method: 'GET', url, status: 200 }]);
});

test('refuses an answer that is no list of issues', async () => {
  for (const body of [{ message: 'hello' }, 'text', [{ title: 'no number' }]]) {
    const result = await runNode(node, { input: {}, config, http: cassetteOf([answer(first, body)]) });
    assert.equal(!result.ok && result.error.code, 'ANSWER_UNREADABLE');
  }
});

test('tells what is not there from what is refused and what may come back', async () => {
  for (const [status, code, retryable] of [
    [404, 'REPOSITORY_NOT_FOUND', false],
    [403, 'GITHUB_REFUSED', false],
    [503, 'GITHUB_UNAVAILABLE', true],
  ] as const) {
    const result = await runNode(node, { input: {}, config, http: cassetteOf([answer(first, {}, {}, status)]) });
    assert.ok(!result.ok);
    assert.deepEqual([result.error.code, result.error.retryable], [code, retryable]);
  }
});

test('follows a repository that has moved', async () => {
  const moved = answer(first, {}, { location: page(1) }, 301);
  const result = await runNode(node, { input: {}, config, http: cassetteOf([moved, answer(page(1), [issue(1)])]) });
  assert.ok(result.ok);
  assert.equal(result.output.issues, 1);
});
