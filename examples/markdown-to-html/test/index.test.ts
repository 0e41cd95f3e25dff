import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';

test('renders headings, emphasis and tables of contents', async () => {
  const result = await runNode(node, { input: { markdown: '# One\n\nSome *text*.\n\n## Two\n' }, config: {} });
  assert.ok(result.ok);
  assert.equal(result.output.html, '<h1>One</h1>\n<p>Some <em>text</em>.</p>\n<h2>Two</h2>\n');
  assert.deepEqual(result.output.headings, [
    { level: 1, text: 'One' },
    { level: 2, text: 'Two' },
  ]);
});

test('escapes raw HTML and refuses script links', async () => {
  const result = await runNode(node, { input: { markdown: '<script>x</script> [a](javascript:x)' }, config: {} });
  assert.ok(result.ok);
  assert.ok(!result.output.html.includes('<script>'));
  assert.ok(!result.output.html.includes('href="javascript:'));
});

test('makes links of bare addresses only when asked', async () => {
  const input = { markdown: 'see https://example.com' };
  const plain = await runNode(node, { input, config: {} });
  const linked = await runNode(node, { input, config: { linkify: true } });
  assert.ok(plain.ok && linked.ok);
  assert.ok(!plain.output.html.includes('<a '));
  assert.ok(linked.output.html.includes('<a href="https://example.com">'));
});
