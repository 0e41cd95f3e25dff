import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createTestContext, runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';
import { nextLink } from '../src/next-link.ts';
import { answer, cassetteOf, config, first, issue, next, page } from './cassettes.ts';

const recorded = JSON.parse(readFileSync(new URL('../fixtures/pages.cassette.json', import.meta.url), 'utf8'));

test('reads every page that the answers lead to, and no other', async () => {
  const result = await runNode(node, { input: {}, config, http: recorded });
  assert.ok(result.ok);
  assert.deepEqual(
    result.requests.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.deepEqual([result.output.pages, result.output.issues, result.output.truncated], [3, 4, false]);
});

test('stops at its budget of pages with what it has, also where the list has no end', async () => {
  const http = cassetteOf([answer(first, [issue(1)], next(2)), answer(page(2), [issue(2)], next(2))]);
  const result = await runNode(node, { input: {}, config: { ...config, maxPages: 5 }, http });
  assert.ok(result.ok);
  const { pages, issues, truncated, stoppedBy } = result.output;
  assert.deepEqual(
    { pages, issues, truncated, stoppedBy },
    { pages: 5, issues: 5, truncated: true, stoppedBy: 'page-budget' },
  );
  assert.match(result.files[0]?.text ?? '', /\*\*Not all of them:\*\*/);
});

test('ends with an empty last page, however empty it is', async () => {
  for (const last of [
    answer(page(2), [], next(3)),
    answer(page(2), {}),
    answer(page(2), undefined),
    answer(page(2), undefined, {}, 204),
  ]) {
    const http = cassetteOf([answer(first, [issue(1)], next(2)), last]);
    const result = await runNode(node, { input: {}, config, http });
    assert.ok(result.ok, JSON.stringify(last));
    assert.deepEqual([result.output.pages, result.output.issues, result.output.stoppedBy], [2, 1, 'end']);
  }
});

test('follows a link to GitHub, relative or whole, and to nowhere else', () => {
  const link = (target: string, rel = 'rel="next"'): string | undefined =>
    nextLink(`<${page(9)}>; rel="last", <${target}>; ${rel}`, first);
  assert.equal(link(page(2)), page(2));
  assert.equal(link('/repositories/7/issues?page=2'), 'https://api.github.com/repositories/7/issues?page=2');
  assert.equal(link(page(2), 'title="a, b"; rel=next'), page(2));
  assert.equal(link(page(2), 'rel="prev next"'), page(2));
  assert.equal(link(page(2), 'rel="nextish"'), undefined);
  assert.equal(nextLink(null, first), undefined);
  for (const target of [
    'https://api.github.com.evil.example/',
    '//evil.example/',
    'http://api.github.com/',
    'https://api.github.com:8443/',
    'https://a:b@evil.example/',
  ])
    assert.throws(() => link(target), { code: 'LINK_ELSEWHERE' }, target);
});

test('asks nobody where the link leads elsewhere', async () => {
  const http = cassetteOf([answer(first, [issue(1)], { link: '<https://issues.example/2>; rel="next"' })]);
  const result = await runNode(node, { input: {}, config, http });
  assert.equal(!result.ok && result.error.code, 'LINK_ELSEWHERE');
  assert.equal(result.requests.length, 1);
});

test('ends when it is cancelled while it waits', async () => {
  const http = cassetteOf([answer(first, {}, { 'retry-after': '5' }, 429)]);
  const { ctx, cancel, requests } = createTestContext({ input: {}, config, http });
  const run = node(ctx);
  setImmediate(cancel);
  await assert.rejects(async () => run, { code: 'CANCELLED' });
  assert.ok(requests.length < 20);
});
