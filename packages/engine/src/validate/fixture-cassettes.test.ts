import type { Finding } from '@glovebox/contract';
import { createCassetteEgress, type Miss } from '@glovebox/egress/cassette';
import { describe, expect, it } from 'vitest';
import { missFindings, unusedFindings } from './cassette-findings.ts';
import { type NamedCassette, readCassetteOf } from './fixture-cassettes.ts';
import { readFixtures } from './fixture-files.ts';

const files = (texts: { [path: string]: string }) =>
  new Map(Object.entries(texts).map(([path, text]) => [path, new TextEncoder().encode(text)]));
const cassetteText = (...urls: string[]): string =>
  JSON.stringify({
    schema: 'glovebox.cassette/1',
    entries: urls.map((url) => ({ request: { method: 'GET', url }, response: { status: 200 } })),
  });
const fixture = (http?: string): string => JSON.stringify({ input: 1, http, expect: { output: 1 } });
const placesOf = (findings: Finding[]): string[] =>
  findings.map(({ rule, place }) => `${rule} ${place.file} ${place.path}`);

describe('the cassette of a fixture', () => {
  it('is read from beside it, once for all fixtures that name it, and is no fixture itself', () => {
    const { fixtures, findings } = readFixtures(
      files({
        'fixtures/a.json': fixture('api'),
        'fixtures/b.json': fixture('api'),
        'fixtures/c.json': fixture(),
        'fixtures/api.cassette.json': cassetteText('https://a.test/'),
        'fixtures/other.cassette.json': 'not even JSON, and nobody names it',
      }),
    );
    expect(findings).toEqual([]);
    expect(fixtures.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(fixtures[0]?.cassette).toMatchObject({ file: 'fixtures/api.cassette.json' });
    expect(fixtures[0]?.cassette).toBe(fixtures[1]?.cassette);
    expect(fixtures[2]?.cassette).toBeUndefined();
  });

  it('that is at fault is told of once, and the fixtures that name it are not run', () => {
    const { fixtures, findings } = readFixtures(
      files({
        'fixtures/a.json': fixture('api'),
        'fixtures/b.json': fixture('api'),
        'fixtures/c.json': fixture(),
        'fixtures/api.cassette.json': '{}',
      }),
    );
    expect(placesOf(findings)).toEqual(['CASSETTE_INVALID fixtures/api.cassette.json /schema']);
    expect(fixtures.map(({ name }) => name)).toEqual(['c']);
  });

  const good = cassetteText('https://a.test/');
  it.each<[string, string | undefined, string]>([
    ['is not there', undefined, ''],
    ['is no UTF-8', good.replace('a.test', '\u0000').replace('\u0000', '\ud800'), '/entries/0/request/url'],
    ['is no JSON', `${good},`, ''],
    ['names a member twice', good.replace('"status":200', '"status":200,"status":500'), '/entries/0/response/status'],
    ['has a prototype', good.replace('"entries"', '"__proto__":{"entries":[]},"entries"'), '/__proto__'],
    [
      'is nested too deep',
      good.replace('"status":200', `"status":200,"body":${'['.repeat(20)}${']'.repeat(20)}`),
      expect.any(String),
    ],
    [
      'has a number that no double holds',
      good.replace('200', '20000000000000000000000000001'),
      '/entries/0/response/status',
    ],
    ['has too many entries', cassetteText(...Array(10_000).fill('https://a.test/')), '/entries'],
    ['is too large', good.replace('/"', `/${'x'.repeat(2 * 1024 * 1024)}"`), expect.anything()],
    [
      'has an answer in our name',
      good.replace('"status":200', '"status":200,"headers":{"glovebox-egress":"denied"}'),
      '/entries/0/response/headers/glovebox-egress',
    ],
  ])('that %s is a finding', (_, text, path) => {
    const read = readCassetteOf(files(text === undefined ? {} : { 'fixtures/api.cassette.json': text }), 'api');
    const findings = read.ok ? [] : read.findings;
    expect(findings).toMatchObject([
      { rule: 'CASSETTE_INVALID', severity: 'error', place: { file: 'fixtures/api.cassette.json' } },
    ]);
    if (typeof path === 'string') expect(findings[0]?.place.path).toBe(path);
    expect(readCassetteOf(files({ 'fixtures/api.cassette.json': good }), 'api').ok).toBe(true);
  });

  it.each([['../a'], ['a/b'], ['.a'], [''], ['a'.repeat(101)], ['a\u0000']])('is not named %j', (name) => {
    expect(readCassetteOf(files({ [`fixtures/${name}.cassette.json`]: good }), name).ok).toBe(false);
  });

  it('costs a hostile file of its full size less than two seconds', () => {
    const hostile = `{"schema":"glovebox.cassette/1","entries":[${Array(100_000).fill('{"request":{}}').join(',')}]}`;
    const began = performance.now();
    const read = readCassetteOf(files({ 'fixtures/api.cassette.json': hostile }), 'api');
    expect(read.ok ? [] : placesOf(read.findings)).toEqual(['CASSETTE_INVALID fixtures/api.cassette.json /entries']);
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

describe('what a fixture made of its cassette', () => {
  const named = (...urls: string[]): NamedCassette => {
    const read = readCassetteOf(files({ 'fixtures/api.cassette.json': cassetteText(...urls) }), 'api');
    if (!read.ok) throw new Error('no cassette');
    return read.found;
  };
  const miss: Miss = { method: 'GET', url: 'https://a.test/x', nearest: null };

  it('is told request by request where it was not recorded, ten of them at most', () => {
    const place = { file: 'fixtures/a.json', path: '/http' };
    const nearest: Miss['nearest'] = { entry: 4, method: 'GET', url: 'https://a.test/', differs: ['path'] };
    const [first] = missFindings('a', place, [{ ...miss, nearest }]);
    expect(first).toMatchObject({ rule: 'CASSETTE_MISS', severity: 'error', place });
    expect(first?.message).toBe(
      'a: GET https://a.test/x is not in the cassette; nearest is entry 4, GET https://a.test/, which differs in path',
    );
    expect(missFindings('a', place, Array(50).fill(miss))).toHaveLength(10);
  });

  it('is a warning for what no fixture asked for, and none for what one of them did', () => {
    const cassette = named('https://a.test/0', 'https://a.test/1', 'https://a.test/2');
    const { player } = createCassetteEgress(cassette.cassette);
    expect(player.unused()).toEqual([0, 1, 2]);
    const findings = unusedFindings(
      new Map([
        [
          cassette,
          [
            [0, 1],
            [1, 2],
          ],
        ],
      ]),
      'all-fixtures',
    );
    expect(placesOf(findings)).toEqual(['CASSETTE_UNUSED fixtures/api.cassette.json /entries/1']);
    expect(findings[0]).toMatchObject({
      severity: 'warning',
      message: expect.stringContaining('no fixture asks for 1 (GET https://a.test/1)'),
    });
    expect(unusedFindings(new Map([[cassette, [[0], [1, 2]]]]), 'all-fixtures')).toEqual([]);
  });
});
