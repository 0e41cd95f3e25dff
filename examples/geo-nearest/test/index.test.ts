import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';

const places = [
  { id: 'OSL', latitude: 60.1939, longitude: 11.1004 },
  { id: 'ARN', latitude: 59.6519, longitude: 17.9186 },
  { id: 'FCO', latitude: 41.8003, longitude: 12.2389 },
];

test('orders places by great-circle distance', async () => {
  const result = await runNode(node, {
    input: { places, points: [{ latitude: 59.9, longitude: 10.7 }] },
    config: { count: 2 },
  });
  assert.ok(result.ok);
  const [near] = result.output.matches;
  assert.deepEqual(
    near?.map(({ id }) => id),
    ['OSL', 'ARN'],
  );
  assert.ok((near?.[0]?.km ?? 0) > 30 && (near?.[0]?.km ?? 0) < 50);
});

test('finds neighbours across the date line', async () => {
  const across = [
    { id: 'west', latitude: 0, longitude: 179.5 },
    { id: 'far', latitude: 0, longitude: 170 },
  ];
  const result = await runNode(node, {
    input: { places: across, points: [{ latitude: 0, longitude: -179.5 }] },
    config: { count: 1 },
  });
  assert.ok(result.ok);
  assert.equal(result.output.matches[0]?.[0]?.id, 'west');
});

test('leaves out what is farther than maxKm', async () => {
  const result = await runNode(node, {
    input: { places, points: [{ latitude: 59.9, longitude: 10.7 }] },
    config: { count: 3, maxKm: 100 },
  });
  assert.ok(result.ok);
  assert.equal(result.output.matches[0]?.length, 1);
});

test('says so when there are no places', async () => {
  const result = await runNode(node, { input: { places: [], points: [] }, config: {} });
  assert.ok(!result.ok);
  assert.equal(result.error.code, 'NO_PLACES');
});
