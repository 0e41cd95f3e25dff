import type { Json } from '@glovebox/contract';
import { manifestLimits } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { compileSchema, keywordNames } from './compile.ts';
import { evaluateSchema } from './evaluate.ts';
import { schemaLimits } from './limits.ts';
import { TooCostly } from './problem.ts';

async function judge(schema: Json, value: Json, steps?: number) {
  const compiled = await compileSchema(schema);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  return evaluateSchema(compiled.root, value, steps);
}
const problems = async (schema: Json) => {
  const compiled = await compileSchema(schema);
  return compiled.ok ? [] : compiled.problems.map(({ rule, path, message }) => `${rule} ${path} ${message}`);
};

it('has the limits that the manifest has', () => {
  expect([schemaLimits.bytes, schemaLimits.depth]).toEqual([manifestLimits.schemaBytes, manifestLimits.schemaDepth]);
});

it('knows exactly these keywords', () => {
  expect(keywordNames).toEqual([
    ...[
      '$comment',
      '$defs',
      '$ref',
      '$schema',
      'additionalProperties',
      'allOf',
      'anyOf',
      'const',
      'contains',
      'default',
    ],
    ...[
      'dependentRequired',
      'deprecated',
      'description',
      'else',
      'enum',
      'examples',
      'exclusiveMaximum',
      'exclusiveMinimum',
    ],
    ...[
      'format',
      'if',
      'items',
      'maxContains',
      'maxItems',
      'maxLength',
      'maxProperties',
      'maximum',
      'minContains',
      'minItems',
    ],
    ...[
      'minLength',
      'minProperties',
      'minimum',
      'multipleOf',
      'not',
      'oneOf',
      'pattern',
      'patternProperties',
      'prefixItems',
    ],
    ...['properties', 'propertyNames', 'readOnly', 'required', 'then', 'title', 'type', 'uniqueItems', 'writeOnly'],
  ]);
});

const own = (text: string) => JSON.parse(text) as Json;

/** Keyword, schema, values that fit, values that do not. */
const table: [string, Json, Json[], Json[]][] = [
  ['true and false', { properties: { a: true, b: false } }, [{}, { a: 1 }], [{ b: 1 }]],
  ['type', { type: 'string' }, ['', 'a'], [1, null, [], {}, true]],
  ['type in a list', { type: ['string', 'null'] }, ['a', null], [1, [], {}]],
  ['type integer', { type: 'integer' }, [0, -1, 1.0, 1e308, 2 ** 60], [1.5, '1', 1e-308, 0.1]],
  ['type number', { type: 'number' }, [0, 1.5, -1e308], ['1', null]],
  ['type array and object', { type: ['array', 'object'] }, [[], {}], [null, 'x']],
  [
    'enum',
    { enum: [1, 'a', null, { b: [1, 2] }] },
    [1, 1.0, 'a', null, { b: [1, 2] }],
    [2, 'b', { b: [2, 1] }, { b: [1, 2], c: 1 }, [], false],
  ],
  ['const', { const: { a: 1, b: [null] } }, [{ b: [null], a: 1 }], [{ a: 1 }, { a: 1, b: [] }, null]],
  ['const zero', { const: 0 }, [0, -0, 0.0], ['0', false, null]],
  ['properties', { properties: { a: { type: 'string' } } }, [{}, { a: 'x' }, { b: 1 }, 'x', [1]], [{ a: 1 }]],
  ['required', { required: ['a', 'toString'] }, [own('{"a":1,"toString":1}'), 'x', []], [{}, { a: 1 }]],
  [
    'additionalProperties false',
    { properties: { a: {} }, additionalProperties: false },
    [{}, { a: 1 }, [1]],
    [{ b: 1 }],
  ],
  [
    'additionalProperties schema',
    { properties: { a: {} }, additionalProperties: { type: 'number' } },
    [{ a: 'x', b: 1 }],
    [{ b: 'x' }],
  ],
  [
    'patternProperties',
    { patternProperties: { '^n': { type: 'number' } }, additionalProperties: false },
    [{ n: 1, no: 2 }, {}],
    [{ n: 'x' }, { m: 1 }],
  ],
  ['propertyNames', { propertyNames: { maxLength: 2 } }, [{}, { ab: 1 }, 'abc'], [{ abc: 1 }]],
  ['minProperties', { minProperties: 1 }, [{ a: 1 }, []], [{}]],
  ['maxProperties', { maxProperties: 1 }, [{}, { a: 1 }], [{ a: 1, b: 2 }]],
  [
    'dependentRequired',
    { dependentRequired: { a: ['b', 'c'] } },
    [{}, { b: 1 }, { a: 1, b: 1, c: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
  ],
  ['items', { items: { type: 'number' } }, [[], [1, 2], {}, 'x'], [[1, 'x']]],
  ['items false', { items: false }, [[]], [[1]]],
  [
    'prefixItems',
    { prefixItems: [{ type: 'number' }, { type: 'string' }] },
    [[], [1], [1, 'a'], [1, 'a', null]],
    [['a'], [1, 2]],
  ],
  [
    'prefixItems and items',
    { prefixItems: [{ type: 'number' }], items: { type: 'string' } },
    [[1, 'a', 'b']],
    [[1, 2], ['a']],
  ],
  ['minItems and maxItems', { minItems: 1, maxItems: 2 }, [[1], [1, 2], 'x'], [[], [1, 2, 3]]],
  ['contains', { contains: { type: 'string' } }, [['a'], [1, 'a'], {}], [[], [1]]],
  [
    'contains beside prefixItems',
    { contains: { type: 'string' }, prefixItems: [{ type: 'string' }] },
    [['a']],
    [[], [1]],
  ],
  ['minContains 0', { contains: { type: 'string' }, minContains: 0 }, [[], [1]], []],
  [
    'minContains and maxContains',
    { contains: { const: 1 }, minContains: 2, maxContains: 3 },
    [
      [1, 1],
      [1, 1, 1, 2],
    ],
    [[1], [1, 1, 1, 1]],
  ],
  [
    'uniqueItems',
    { uniqueItems: true },
    [
      [],
      [1, 2],
      [1, true, '1', null],
      [[1], [2]],
      [
        { a: 1, b: 2 },
        { a: 2, b: 1 },
      ],
    ],
    [
      [1, 1.0],
      [0, -0],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [
        [1, [2]],
        [1, [2]],
      ],
      ['a', 'a'],
    ],
  ],
  ['uniqueItems false', { uniqueItems: false }, [[1, 1]], []],
  ['minLength in code points', { minLength: 2 }, ['ab', '\u{1f600}a', 5], ['', 'a', '\u{1f600}']],
  ['maxLength in code points', { maxLength: 1 }, ['', 'a', '\u{1f600}', '\ud800'], ['ab', '\ud800\ud800']],
  ['pattern anywhere in the text', { pattern: 'b+' }, ['abc', 'b', 5], ['', 'ac']],
  ['pattern, anchored', { pattern: '^[a-z]{2}\\d$' }, ['ab1'], ['ab1\n', 'xab1', 'ab12']],
  ['pattern by code point', { pattern: '^.$' }, ['a', '\u{1f600}', 'é'], ['', 'ab', '\n']],
  ['pattern with escapes', { pattern: '^\\u0041\\x42\\u{43}\\/\\-\\.$' }, ['ABC/-.'], ['ABC/-x']],
  ['pattern with named and plain groups', { pattern: '^(?<y>\\d{4})-(?:a|b)$' }, ['2024-a'], ['2024-c']],
  ['minimum and maximum', { minimum: 1, maximum: 2 }, [1, 2, 1.5, 'x'], [0.999, 2.001, -1e308, 1e308]],
  ['exclusive bounds', { exclusiveMinimum: 1, exclusiveMaximum: 2 }, [1.5], [1, 2]],
  ['multipleOf an integer', { multipleOf: 3 }, [0, 3, -6, 'x'], [1, 4.5, 1e308]],
  ['multipleOf a decimal', { multipleOf: 0.1 }, [0.3, 1.1, 2, 1e20, 4.35e1], [0.35, 0.01]],
  ['multipleOf a small decimal', { multipleOf: 0.01 }, [0.07, 19.99, 4.35, 1.005e3], [0.005, 19.999]],
  ['multipleOf extremes', { multipleOf: 1e-300 }, [1e308, 1e-300, 0], [1.5e-300]],
  ['allOf', { allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  ['anyOf', { anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['a', 5, null], [4]],
  ['oneOf', { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3, 4], [6, 1, 'x']],
  ['not', { not: { type: 'string' } }, [1, null], ['a']],
  // biome-ignore lint/suspicious/noThenProperty: the name of the keyword
  ['if, then, else', { if: { type: 'number' }, then: { minimum: 5 }, else: { type: 'string' } }, [5, 'a'], [4, null]],
  // biome-ignore lint/suspicious/noThenProperty: the name of the keyword
  ['if alone, then alone', { if: false, allOf: [{ then: false, else: false }] }, [1, null], []],
  ['$ref', { $defs: { p: { type: 'number' } }, $ref: '#/$defs/p', minimum: 2 }, [2], ['x', 1]],
  [
    '$ref to the root',
    { properties: { child: { $ref: '#' } }, additionalProperties: false },
    [{ child: { child: {} } }],
    [{ child: { x: 1 } }],
  ],
  ['$ref with escapes', { $defs: { 'a/b~c %': { const: 1 } }, $ref: '#/$defs/a~1b~0c%20%25' }, [1], [2]],
  [
    '$ref into properties',
    { properties: { a: { type: 'string' }, b: { $ref: '#/properties/a' } } },
    [{ b: 'x' }],
    [{ b: 1 }],
  ],
  [
    'annotations',
    {
      title: 't',
      description: 'd',
      default: 1,
      examples: [1],
      $comment: 'c',
      deprecated: true,
      readOnly: true,
      writeOnly: true,
      $schema: 'https://json-schema.org/draft/2020-12/schema',
    },
    [1, null],
    [],
  ],
  ['own __proto__ in a value', { properties: { a: {} }, additionalProperties: false }, [{}], [own('{"__proto__":1}')]],
  [
    'own __proto__ in a schema',
    own('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}'),
    [own('{"__proto__":"x"}')],
    [{}, own('{"__proto__":1}')],
  ],
  [
    'inherited names',
    { required: ['constructor'], properties: { hasOwnProperty: false } },
    [own('{"constructor":1}')],
    [{}, own('{"hasOwnProperty":1,"constructor":1}')],
  ],
];

describe.each(table)('%s', (_name, schema, good, bad) => {
  it.each(good.map((value) => [value]))('lets %j pass', async (value) => {
    expect(await judge(schema, value)).toEqual([]);
  });
  it.each(bad.map((value) => [value]))('finds that %j does not fit', async (value) => {
    expect((await judge(schema, value)).length).toBeGreaterThan(0);
  });
});

describe('format', () => {
  const formats: [string, string[], string[]][] = [
    [
      'date',
      ['2024-02-29', '0000-01-01', '9999-12-31'],
      ['2023-02-29', '2024-13-01', '2024-00-10', '2024-1-1', '2024-04-31', '2024-01-01T', '1900-02-29', '2024-01-01\n'],
    ],
    [
      'time',
      ['12:00:00Z', '23:59:60Z', '00:00:00.123+01:30', '15:59:60-08:00', '01:29:60+01:30'],
      ['12:00:00', '24:00:00Z', '12:60:00Z', '12:00:60Z', '12:00:00+24:00', '23:59:61Z', '1:00:00Z'],
    ],
    [
      'date-time',
      ['2024-01-01T00:00:00Z', '2024-01-01t00:00:00.1z', '1998-12-31T23:59:60Z'],
      ['2024-01-01 00:00:00Z', '2024-01-01T00:00:00', '2024-01-01', '2024-02-30T00:00:00Z', ''],
    ],
    [
      'email',
      ['a@b.example', "o'hara+x@sub.example.com", 'a@localhost', `${'a'.repeat(64)}@b.example`],
      [
        'a',
        '@b',
        'a@',
        'a@@b',
        'a b@c',
        '.a@b',
        'a.@b',
        'a..b@c',
        'a@-b',
        'a@b..c',
        `${'a'.repeat(65)}@b.example`,
        'a@b\n',
      ],
    ],
    [
      'hostname',
      ['example.com', 'a', 'xn--nxasmq6b', '1.2', 'a-b.c', 'a'.repeat(63)],
      ['', '-a', 'a-', 'a..b', '.a', 'a.', 'a_b', 'ü', 'a'.repeat(64), `${'a.'.repeat(127)}aa`],
    ],
    [
      'ipv4',
      ['0.0.0.0', '255.255.255.255'],
      ['256.0.0.0', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.4 ', '0x1.2.3.4', '1.2.3.'],
    ],
    [
      'ipv6',
      ['::', '::1', '1::', '1:2:3:4:5:6:7:8', '1::8', '::ffff:1.2.3.4', '1:2:3:4:5:6:1.2.3.4', 'ABCD::'],
      [
        '',
        ':',
        ':::',
        '1::2::3',
        '1:2:3:4:5:6:7',
        '1:2:3:4:5:6:7:8:9',
        '12345::',
        'g::',
        '::1%eth0',
        '::1.2.3',
        '1:2:3:4:5:6:7::8',
        '1.2.3.4::',
        '::1.2.3.4:5',
        ' ::1',
      ],
    ],
    [
      'uri',
      [
        'http://a',
        'https://u:p@a.example:8080/p/%20?q=1&r[]=2'.replace('[]', '%5B%5D'),
        'mailto:a@b.example',
        'urn:x:y',
        'http://[::1]:80/',
        'a:',
        'http://a/?#x',
        'file:///x',
        'tel:+1',
      ],
      [
        '',
        '/a',
        'a',
        '//a/b',
        'http://a b',
        'http://a/%2',
        'http://a/#x#y',
        '1a:b',
        'http://[x]/',
        'http://[::1',
        'http://a\\b',
        'http://ü',
        'http://a:b/',
        ':a',
        'http://a/<>',
      ],
    ],
    [
      'uuid',
      ['2eb8aa08-aa98-11ea-b4aa-73b441d16380', '2EB8AA08-AA98-11EA-B4AA-73B441D16380'],
      [
        '2eb8aa08aa9811eab4aa73b441d16380',
        '2eb8aa08-aa98-11ea-b4aa-73b441d1638',
        '2eb8aa08-aa98-11ea-b4aa-73b441d16380x',
        'geb8aa08-aa98-11ea-b4aa-73b441d16380',
      ],
    ],
  ];
  it.each(formats.flatMap(([name, good]) => good.map((text) => [name, text])))('%s takes %j', async (format, text) => {
    expect(await judge({ format: format ?? '' }, text ?? '')).toEqual([]);
  });
  it.each(formats.flatMap(([name, _good, bad]) => bad.map((text) => [name, text])))(
    '%s refuses %j',
    async (format, text) => {
      expect(await judge({ format: format ?? '' }, text ?? '')).toHaveLength(1);
    },
  );
  it('says nothing about what is no string', async () => {
    expect(await judge({ format: 'date' }, 5)).toEqual([]);
  });
});

describe('a schema that is refused', () => {
  it.each([
    [{ typ: 'string' }, '/typ', 'did you mean type'],
    [{ $id: 'https://example.com/x' }, '/$id', ''],
    [{ $anchor: 'x' }, '/$anchor', ''],
    [{ $dynamicRef: '#x' }, '/$dynamicRef', ''],
    [{ $vocabulary: {} }, '/$vocabulary', ''],
    [{ unevaluatedProperties: false }, '/unevaluatedProperties', ''],
    [{ dependentSchemas: {} }, '/dependentSchemas', ''],
    [{ definitions: {} }, '/definitions', ''],
    [{ $schema: 'http://json-schema.org/draft-07/schema#' }, '/$schema', ''],
    [{ type: 'strnig' }, '/type', ''],
    [{ type: [] }, '/type', ''],
    [{ enum: [] }, '/enum', ''],
    [{ required: 'a' }, '/required', ''],
    [{ properties: [] }, '/properties', ''],
    [{ properties: { 'a/b': 5 } }, '/properties/a~1b', ''],
    [{ items: [{}] }, '/items', ''],
    [{ minLength: -1 }, '/minLength', ''],
    [{ minLength: 1.5 }, '/minLength', ''],
    [{ maximum: '5' }, '/maximum', ''],
    [{ multipleOf: 0 }, '/multipleOf', ''],
    [{ allOf: [] }, '/allOf', ''],
    [{ anyOf: {} }, '/anyOf', ''],
    [{ not: 1 }, '/not', ''],
    [{ uniqueItems: 1 }, '/uniqueItems', ''],
    [{ format: 'regex' }, '/format', ''],
    [{ $ref: 5 }, '/$ref', ''],
    [{ $ref: 'https://example.com/schema' }, '/$ref', ''],
    [{ $ref: 'other.json#/x' }, '/$ref', ''],
    [{ $ref: '#x' }, '/$ref', ''],
    [{ $ref: '#/$defs/none' }, '/$ref', ''],
    [{ $ref: '#/%' }, '/$ref', ''],
    [{ $ref: '#/const', const: {} }, '/$ref', ''],
    [{ $ref: '#/$defs', $defs: {} }, '/$ref', ''],
    [{ dependentRequired: { a: 'b' } }, '/dependentRequired/a', ''],
    [own('{"__proto__":{}}'), '/__proto__', ''],
    [5, '', ''],
  ] as [Json, string, string][])('as in %j, with its place', async (schema, path) => {
    expect(await problems(schema)).toEqual([expect.stringMatching(/^SCHEMA_UNSUPPORTED /)]);
    expect((await problems(schema))[0]).toContain(` ${path} `);
  });

  it('names every fault, not only the first', async () => {
    expect(await problems({ typ: 1, properties: { a: { patern: 1 } }, items: { $ref: '#/x' } })).toHaveLength(3);
  });

  it.each([
    '(?=a)b',
    '(?!a)b',
    '(?<=a)b',
    '(?<!a)b',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '(?i)a',
    '(?P<n>a)',
    '\\Qa\\E',
    '\\A',
    '\\z',
    '[[:alpha:]]',
    '\\p{Script=Greek}',
    '(',
    'a{2,1}',
    'a{1001}',
    '((a{100}){100}){100}',
    'a**',
    '[b-a]',
    '\\',
    '\\01',
    'x'.repeat(1025),
  ])('for the pattern %.30j', async (pattern) => {
    expect(await problems({ pattern })).toEqual([expect.stringContaining('SCHEMA_UNSUPPORTED /pattern the pattern ')]);
    expect(await problems({ patternProperties: { [pattern]: {} } })).toHaveLength(1);
  });

  it('for patterns that are too large together', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`p${i}`, { pattern: `[a-z]{1000}${i}` }]),
    );
    expect(await problems({ properties })).toEqual([expect.stringContaining('SCHEMA_TOO_COSTLY')]);
  });

  it('for references that lead back without going down into the value, and not for recursion that does', async () => {
    for (const schema of [
      { $ref: '#' },
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      { $defs: { a: { allOf: [{ anyOf: [{ not: { if: { $ref: '#/$defs/a' } } }] }] } } },
    ] as Json[]) {
      expect(await problems(schema)).toEqual([expect.stringContaining('refers back to itself')]);
    }
    for (const schema of [
      { properties: { a: { $ref: '#' } } },
      { items: { $ref: '#' } },
      { $defs: { tree: { anyOf: [{ type: 'string' }, { items: { $ref: '#/$defs/tree' } }] } }, $ref: '#/$defs/tree' },
      { $defs: { a: { $ref: '#/$defs/c' }, b: { $ref: '#/$defs/c' }, c: {} } },
    ] as Json[]) {
      expect(await problems(schema)).toEqual([]);
    }
  });

  it('for nesting of 50,000 levels, before anything recurses into it', async () => {
    let deep: Json = {};
    for (let i = 0; i < 50_000; i++) deep = i % 2 ? [deep] : { not: deep };
    expect(await problems(deep)).toEqual([expect.stringContaining('SCHEMA_TOO_COSTLY')]);
    expect(await problems({ const: deep })).toEqual([expect.stringContaining('SCHEMA_TOO_COSTLY')]);
  });
});

describe('what is told of a misfit', () => {
  it('has the place in the value, the place in the schema, what is wanted and what is there', async () => {
    expect(await judge({ properties: { 'a/b': { items: { type: 'number' } } } }, { 'a/b': [1, 'x'] })).toEqual([
      { instancePath: '/a~1b/1', schemaPath: '/properties/a~1b/items/type', message: 'must be number, but is "x"' },
    ]);
  });

  it('tells every misfit, up to twenty', async () => {
    expect(await judge({ items: { type: 'number' } }, ['a', 'b', 'c'])).toHaveLength(3);
    expect(
      await judge(
        { items: { type: 'number' } },
        Array.from({ length: 1000 }, () => 'x'),
      ),
    ).toHaveLength(20);
  });

  it('never repeats more than 80 characters of the value', async () => {
    const secret = 'S3CRET'.repeat(1000);
    const schema = {
      type: 'number',
      enum: [1],
      const: 2,
      pattern: 'x',
      format: 'date',
      not: {},
      additionalProperties: false,
      propertyNames: false,
    } as Json;
    for (const value of [secret, { [secret]: secret }] as Json[]) {
      for (const { message } of await judge(schema, value)) expect(message.length).toBeLessThan(200);
    }
  });

  it('names the alternative that the value comes furthest into', async () => {
    const schema = {
      oneOf: [
        { properties: { kind: { const: 'a' } }, required: ['kind'] },
        { properties: { kind: { const: 'b' }, size: { properties: { x: { type: 'number' } } } } },
      ],
    };
    expect((await judge(schema, { kind: 'b', size: { x: 'no' } }))[0]?.message).toContain(
      'closest: /size/x must be number',
    );
  });

  it('shows no control characters of the value', async () => {
    expect((await judge({ type: 'number' }, '\u001b[31m\u202e\u0085'))[0]?.message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe('what it may cost', () => {
  const bomb: Json = {
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `a${i}`,
        i === 39 ? { type: 'string' } : { allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] },
      ]),
    ),
    $ref: '#/$defs/a0',
  };

  it('ends a bomb of references by its budget', async () => {
    await expect(judge(bomb, 'x')).rejects.toThrow(TooCostly);
  });

  it('ends a chain of thousands of references before the stack does', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 2500 }, (_, i) => [`a${i}`, i === 2499 ? {} : { $ref: `#/$defs/a${i + 1}` }]),
    );
    await expect(judge({ $defs, $ref: '#/$defs/a0' }, 1)).rejects.toThrow(TooCostly);
  });

  it('does not take a failing pattern for more than its length', async () => {
    expect(await judge({ pattern: '^(a+)+$' }, `${'a'.repeat(28)}!`)).toHaveLength(1);
    expect(await judge({ pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' }, 'a'.repeat(50_000))).toHaveLength(1);
    expect(await judge({ pattern: '(x+x+)+y' }, 'x'.repeat(50_000))).toHaveLength(1);
    expect(await judge({ format: 'email' }, `a@${'a'.repeat(27)}!`)).toHaveLength(1);
  });

  it('compares 100,000 elements in linear time', async () => {
    const items = Array.from({ length: 100_000 }, (_, i) => (i % 2 ? { id: i } : `s${i}`));
    expect(await judge({ uniqueItems: true }, items)).toEqual([]);
    expect(await judge({ uniqueItems: true }, [...items, { id: 99_999 }])).toHaveLength(1);
  });

  it('spends the same on every machine', async () => {
    const schema = { items: { type: 'number' } };
    const value = Array.from({ length: 100 }, (_, i) => i);
    expect(await judge(schema, value, 101)).toEqual([]);
    await expect(judge(schema, value, 100)).rejects.toThrow(TooCostly);
  });

  it.each<[string, Json]>([
    ['maxProperties', { maxProperties: 5000 }],
    ['additionalProperties', { not: { additionalProperties: false } }],
    ['const', { not: { const: { a: 1 } } }],
  ])('spends for every name of an object that %s lists, each time', async (_, schema) => {
    const value = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, 0]));
    const times = (count: number): Json => ({ allOf: Array.from({ length: count }, () => schema) });
    await expect(judge(times(100), value, 90_000)).rejects.toThrow(TooCostly);
    expect(await judge(times(10), value, 90_000)).toEqual([]);
  });

  it('fails a deep value under recursive alternatives without trying them over and over', async () => {
    const schema = {
      $defs: {
        tree: {
          oneOf: [
            { type: 'string' },
            { type: 'object', properties: { next: { $ref: '#/$defs/tree' } }, required: ['next'] },
          ],
        },
      },
      $ref: '#/$defs/tree',
    } as Json;
    const nested = (leaf: Json): Json => Array.from({ length: 100 }).reduce<Json>((value) => ({ next: value }), leaf);
    expect(await judge(schema, nested('leaf'))).toEqual([]);
    expect(await judge(schema, nested(5))).toHaveLength(1);
  });
});
