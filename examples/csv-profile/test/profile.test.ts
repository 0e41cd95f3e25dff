import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';
import { profileColumn, quantile } from '../src/profile.ts';

const options = { nulls: new Set(['', 'NA']), topValues: 2 };

test('tells integers, numbers, booleans, dates, text and empty columns apart', () => {
  const typeOf = (...values: string[]): string => profileColumn('c', values, options).type;
  assert.equal(typeOf('1', '-2', '', '+3'), 'integer');
  assert.equal(typeOf('1', '2.5', '1e3'), 'number');
  assert.equal(typeOf('true', 'FALSE'), 'boolean');
  assert.equal(typeOf('2026-01-31', '2026-02-01T10:00:00Z'), 'date');
  assert.equal(typeOf('1', 'one'), 'string');
  assert.equal(typeOf('', 'NA'), 'empty');
});

test('counts nulls and distinct values and keeps the most frequent ones', () => {
  const profile = profileColumn('c', ['b', 'a', 'b', '', 'NA', 'c', 'a', 'b'], options);
  assert.equal(profile.nulls, 2);
  assert.equal(profile.distinct, 3);
  assert.deepEqual(profile.top, [
    { value: 'b', count: 3 },
    { value: 'a', count: 2 },
  ]);
});

test('interpolates quantiles between ranks', () => {
  const sorted = Float64Array.from([1, 2, 3, 4]);
  assert.equal(quantile(sorted, 0.5), 2.5);
  assert.equal(quantile(sorted, 0), 1);
  assert.equal(quantile(sorted, 1), 4);
});

test('profiles a small text and writes a report', async () => {
  const result = await runNode(node, { input: { csv: 'n,city\n1,Oslo\n2,Oslo\n3,Rome\n' }, config: {} });
  assert.ok(result.ok);
  assert.equal(result.output.rows, 3);
  assert.deepEqual(
    result.output.columns.map(({ name, type }) => [name, type]),
    [
      ['n', 'integer'],
      ['city', 'string'],
    ],
  );
  assert.deepEqual(
    result.files.map(({ name }) => name),
    ['profile.md'],
  );
});

test('refuses malformed text with a code of its own', async () => {
  const result = await runNode(node, { input: { csv: 'a,b\n"x,1\n' }, config: {} });
  assert.ok(!result.ok);
  assert.equal(result.error.code, 'CSV_MALFORMED');
});
