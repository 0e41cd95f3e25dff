import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';

test('finds every package', async () => {
  const result = await runNode(node, { input: {} });
  assert.deepEqual(result.ok && result.output, { packages: 50 });
});
