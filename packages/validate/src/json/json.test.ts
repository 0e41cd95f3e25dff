import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inspectJson } from './inspect.ts';
import { locate, position } from './place.ts';
import { fromPointer, toPointer } from './pointer.ts';
import { walkJson } from './walk.ts';

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
const accepts = (text: string): boolean => walkJson(text, 1000, {}) === undefined;

describe('walkJson', () => {
  const texts = [
    [
      '{}',
      '[]',
      '0',
      '-0',
      '1e5',
      '-1.5E-3',
      '""',
      'null',
      ' \t\r\n[ 1 , 2 ] \n',
      '{"a":{"b":[{}]}}',
      '"\\u00e9\\n\\/"',
      '"\u007f\u2028"',
    ],
    [
      '',
      ' ',
      '{',
      '[',
      '[1,]',
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      '{a:1}',
      '01',
      '1.',
      '.5',
      '+1',
      '-',
      '1e',
      'tru',
      'nul',
      'NaN',
      'Infinity',
    ],
    [
      '"',
      '"\\x"',
      '"\\u12"',
      '"\n"',
      "'a'",
      '[1 2]',
      '{} {}',
      '[]]',
      '//c\n1',
      '\ufeff{}',
      '[}',
      '{]',
      '1\u00a0',
      '\v1',
      '{"a":1 "b":2}',
      '"\\',
    ],
  ].flat();
  it.each(texts)('agrees with JSON.parse on %j', (text) => {
    expect(accepts(text)).toBe(parses(text));
  });

  it('agrees with JSON.parse on texts with one character changed', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.nat(), fc.constantFrom(...'{}[]",:\\0e-.tn \n\u0001'), (json, at, c) => {
        const text = json.slice(0, at % (json.length + 1)) + c + json.slice((at % (json.length + 1)) + (at % 2));
        if (!parses(text)) refused++;
        expect(accepts(text)).toBe(parses(text));
      }),
      { seed: 7, numRuns: 3000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  it('reads 500,000 nested arrays without exhausting the stack, and refuses them by depth', () => {
    const deep = '['.repeat(500_000);
    expect(walkJson(deep, 64, {})?.reason).toBe('too-deep');
    expect(walkJson(deep, Number.MAX_SAFE_INTEGER, {})?.reason).toBe('syntax');
    expect(walkJson(`${deep}${']'.repeat(500_000)}`, Number.MAX_SAFE_INTEGER, {})).toBeUndefined();
  });

  it('allows exactly the depth that it is given', () => {
    expect(walkJson('[[1]]', 2, {})).toBeUndefined();
    expect(walkJson('[[[]]]', 2, {})?.reason).toBe('too-deep');
  });
});

describe('inspectJson', () => {
  it.each([
    ['{"a":1,"a":2}', '/a'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['[0,{"x":{"y":1,"y":1}}]', '/1/x/y'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
    ['{"a/b":1,"a/b":2}', '/a~1b'],
  ])('tells a member that is there twice: %s', (text, path) => {
    expect(inspectJson(text, 10)).toMatchObject([{ reason: 'duplicate-key', path }]);
  });

  it('allows one name in several objects', () => {
    expect(inspectJson('[{"a":{"a":1}},{"a":1}]', 10)).toEqual([]);
  });

  it.each(['9007199254740993', '-9007199254740993', '1e999', '-1e999', '1'.repeat(400), '123456789012345678901'])(
    'tells a number that a double changes: %s',
    (text) => {
      expect(inspectJson(`[1,${text}]`, 10)).toMatchObject([{ reason: 'unsafe-number', path: '/1', offset: 3 }]);
    },
  );

  it.each(['9007199254740992', '9007199254740994', '1e308', '0.1', '-0', '1e-400', '100000000000000000000'])(
    'allows a number that a double holds: %s',
    (text) => {
      expect(inspectJson(`[${text}]`, 10)).toEqual([]);
    },
  );

  it('tells every problem, not only the first, and stops at twenty', () => {
    expect(inspectJson('{"a":1e999,"a":1e999}', 10)).toHaveLength(3);
    expect(inspectJson(`[${'1e999,'.repeat(100)}0]`, 10)).toHaveLength(20);
  });
});

describe('locate', () => {
  const text = '{\n  "a": [1, {"b": "ü"}],\n  "c/d": {}\r\n}';
  const at = (path: string, kind: 'key' | 'value' = 'value') => {
    const place: { path: string; line?: number; column?: number } = { path };
    locate(text, [{ place, at: kind }]);
    return [place.line, place.column];
  };

  it('finds members and elements by line and column, counted from 1', () => {
    expect(at('')).toEqual([1, 1]);
    expect(at('/a')).toEqual([2, 8]);
    expect(at('/a', 'key')).toEqual([2, 3]);
    expect(at('/a/1/b')).toEqual([2, 18]);
    expect(at('/c~1d', 'key')).toEqual([3, 3]);
  });

  it('gives what is not there the place of its nearest ancestor', () => {
    expect(at('/a/1/missing')).toEqual([2, 12]);
    expect(at('/nowhere')).toEqual([1, 1]);
  });

  it('counts lines by line feeds and columns by UTF-16 code units', () => {
    expect(position('a\r\n\u{1f600}b', 5)).toEqual({ line: 2, column: 3 });
  });
});

it('turns paths into JSON Pointers and back', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (path) => {
      expect(fromPointer(toPointer(path))).toEqual(path);
    }),
    { seed: 1 },
  );
  expect(fromPointer('a')).toBeUndefined();
  expect(fromPointer('/~2')).toBeUndefined();
});
