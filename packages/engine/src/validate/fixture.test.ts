import type { Json } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { judgeFixture, readFixture } from './fixture.ts';
import { readFixtures } from './fixture-files.ts';

const parse = (text: string): Json => JSON.parse(text) as Json;

describe('a fixture', () => {
  it('keeps its values as they are, members called __proto__ included', () => {
    const text = '{"input":{"__proto__":{"a":1}},"expect":{"output":{"__proto__":[1]}}}';
    const read = readFixture(parse(text));
    if (!read.ok) throw new Error(read.message);
    expect(JSON.stringify(read.fixture.input)).toBe('{"__proto__":{"a":1}}');
    expect(JSON.stringify(read.fixture.expect)).toBe('{"output":{"__proto__":[1]}}');
    expect(read.fixture.config).toEqual({});
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it.each([
    ['{"input":null,"expect":{"output":null}}'],
    ['{"input":1,"config":[],"expect":{"error":"X"}}'],
    ['{"input":1,"http":"a.har","expect":{"output":1}}'],
  ])('is %s', (text) => {
    expect(readFixture(parse(text)).ok).toBe(true);
  });

  it.each([
    ['[]', ''],
    ['"x"', ''],
    ['null', ''],
    ['{"expect":{"output":1}}', '/input'],
    ['{"input":1}', '/expect'],
    ['{"input":1,"expect":null}', '/expect'],
    ['{"input":1,"expect":{}}', '/expect'],
    ['{"input":1,"expect":{"output":1,"error":"X"}}', '/expect'],
    ['{"input":1,"expect":{"outptu":1}}', '/expect'],
    ['{"input":1,"expect":{"error":5}}', '/expect'],
    ['{"input":1,"expect":{"error":""}}', '/expect'],
    ['{"input":1,"expect":{"__proto__":{"output":1}}}', '/expect'],
    ['{"input":1,"expect":{"output":1},"in/put":1}', '/in~1put'],
    ['{"input":1,"expect":{"output":1},"__proto__":{}}', '/__proto__'],
    ['{"__proto__":{"input":1},"expect":{"output":1}}', '/__proto__'],
    ['{"input":1,"http":{},"expect":{"output":1}}', '/http'],
  ])('is not %s, which is told at "%s"', (text, path) => {
    expect(readFixture(parse(text))).toMatchObject({ ok: false, path });
  });
});

describe('the fixtures of a package', () => {
  const files = (texts: { [path: string]: string }) =>
    new Map(Object.entries(texts).map(([path, text]) => [path, new TextEncoder().encode(text)]));

  it('are the JSON files of one directory, each by its name', () => {
    const good = '{"input":1,"expect":{"output":1}}';
    const { fixtures, findings } = readFixtures(
      files({ 'fixtures/a.json': good, 'fixtures/b.c.json': good, 'fixtures/d/e.json': 'no', 'fixtures/f.txt': 'no' }),
    );
    expect([fixtures.map(({ name, file }) => [name, file]), findings]).toEqual([
      [
        ['a', 'fixtures/a.json'],
        ['b.c', 'fixtures/b.c.json'],
      ],
      [],
    ]);
  });

  it('are told of one by one, with file and place, where they are none', () => {
    const { fixtures, findings } = readFixtures(
      files({
        'fixtures/bare.json': '{"input":1}',
        'fixtures/deep.json': '['.repeat(200),
        'fixtures/http.json': '{"input":1,"http":"x","expect":{"output":1}}',
        'fixtures/large.json': '{"input":9007199254740993,"expect":{"output":1}}',
        'fixtures/text.json': '{nope}',
        'fixtures/twice.json': '{"input":1,"input":2,"expect":{"output":1}}',
      }),
    );
    expect(fixtures).toEqual([]);
    expect(findings.map(({ rule, place }) => `${rule} ${place.file} ${place.path}`)).toEqual([
      'FIXTURE_INVALID fixtures/bare.json /expect',
      expect.stringContaining('FIXTURE_INVALID fixtures/deep.json'),
      'CASSETTE_INVALID fixtures/x.cassette.json ',
      'FIXTURE_INVALID fixtures/large.json /input',
      'FIXTURE_INVALID fixtures/text.json ',
      'FIXTURE_INVALID fixtures/twice.json /input',
    ]);
  });
});

describe('the verdict on a fixture', () => {
  const failed = (code: string) => ({ state: 'FAILED', output: null, error: { code } });
  const gave = (output: Json) => ({ state: 'SUCCEEDED', output, error: null });

  it('is a match for the same output, and for the same error code', () => {
    expect(judgeFixture('a', { expect: { output: { x: 1, y: 2 } } }, gave({ y: 2, x: 1 }))).toEqual({
      name: 'a',
      matches: true,
    });
    expect(judgeFixture('a', { expect: { error: 'X' } }, failed('X'))).toEqual({ name: 'a', matches: true });
    expect(judgeFixture('a', { expect: { output: null } }, gave(null)).matches).toBe(true);
  });

  it('is none for a failure in place of the output null', () => {
    expect(judgeFixture('a', { expect: { output: null } }, failed('X'))).toEqual({
      name: 'a',
      matches: false,
      expected: { state: 'SUCCEEDED' },
    });
  });

  it('is none for an output, or another code, in place of an error', () => {
    for (const result of [gave(1), failed('Y')])
      expect(judgeFixture('a', { expect: { error: 'X' } }, result)).toMatchObject({ matches: false });
  });

  it('tells where an output differs', () => {
    expect(judgeFixture('a', { expect: { output: [1, { b: 2 }] } }, gave([1, {}]))).toEqual({
      name: 'a',
      matches: false,
      differsAt: '/1/b',
      expected: 2,
    });
  });
});
