import type { Json } from '@glovebox/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compileSchema } from './compile.ts';
import { evaluateSchema } from './evaluate.ts';

const names = ['a', 'b', 'c'] as const;
const name = fc.constantFrom(...names);
const small = fc.integer({ min: 0, max: 3 });
const numbers = fc.constantFrom(0, 1, 2, 3, 4, 6, -1, 0.5, 1.5, -0, 1e15, 2 ** 53);
const texts = fc.constantFrom('', 'a', 'ab', 'abc', 'b1', '\u{1f600}', 'x y');
const scalar = fc.oneof(numbers, texts, fc.boolean(), fc.constant(null));
const patterns = fc.constantFrom('a', '^a', 'b$', '^[a-c]+$', '\\d', '^(?:ab|x)', 'a*', '^.$', '[^a]');

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

/**
 * Schemas of the supported subset. Formats and decimal multiples are left out, where the two differ by intention, and
 * `contains` beside `prefixItems`, where ajv 8 lets an empty array pass.
 */
const { schema } = fc.letrec<{ schema: Json }>((tie) => {
  const sub = tie('schema');
  const list = fc.array(sub, { minLength: 1, maxLength: 3 });
  const type = fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'string', 'integer');
  const keywords = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (item) => JSON.stringify(item) }),
    const: value,
    properties: fc.dictionary(name, sub, { maxKeys: 3, noNullPrototype: true }),
    patternProperties: fc.dictionary(patterns, sub, { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: sub,
    propertyNames: sub,
    required: fc.uniqueArray(name, { maxLength: 2 }),
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    minProperties: small,
    maxProperties: small,
    items: sub,
    prefixItems: list,
    contains: sub,
    minContains: small,
    maxContains: small,
    minItems: small,
    maxItems: small,
    uniqueItems: fc.boolean(),
    minLength: small,
    maxLength: small,
    pattern: patterns,
    minimum: numbers,
    maximum: numbers,
    exclusiveMinimum: numbers,
    exclusiveMaximum: numbers,
    multipleOf: fc.constantFrom(1, 2, 3, 0.5),
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: sub,
    if: sub,
    // biome-ignore lint/suspicious/noThenProperty: the name of the keyword
    then: sub,
    else: sub,
    $ref: fc.constantFrom('#/$defs/x', '#/$defs/y', '#'),
  };
  const pairs = Object.entries(keywords).map(([keyword, arbitrary]) =>
    fc.tuple(fc.constant(keyword), arbitrary as fc.Arbitrary<Json>),
  );
  const object = fc
    .array(fc.oneof(...pairs), { minLength: 1, maxLength: 4 })
    .map((entries) => Object.fromEntries(entries) as { [keyword: string]: Json })
    .filter((one) => one.contains === undefined || one.prefixItems === undefined);
  return {
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 8, arbitrary: object },
    ),
  };
});

const document = fc
  .tuple(schema, schema, schema)
  .map(([root, x, y]) => ({ ...(typeof root === 'object' ? root : { not: !root }), $defs: { x, y } }) as Json);

it('judges as ajv does', { timeout: 120_000 }, async () => {
  const outcomes = { fits: 0, misfits: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(document, fc.array(value, { minLength: 5, maxLength: 10 }), async (root, values) => {
      const compiled = await compileSchema(root);
      if (!compiled.ok) {
        // Depth and references without an end; the generator makes nothing else that is refused.
        expect(compiled.problems.filter(({ message }) => !/refers back|nests deeper/.test(message))).toEqual([]);
        outcomes.refused++;
        return;
      }
      const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
      const validate = ajv.compile(root as object);
      for (const one of values) {
        const expected = validate(one);
        outcomes[expected ? 'fits' : 'misfits']++;
        const misfits = evaluateSchema(compiled.root, one);
        expect({ value: one, fits: misfits.length === 0, misfits }).toEqual({ value: one, fits: expected, misfits });
      }
    }),
    { seed: 2012, numRuns: 300 },
  );
  expect(outcomes.fits).toBeGreaterThan(300);
  expect(outcomes.misfits).toBeGreaterThan(300);
  expect(outcomes.refused).toBeLessThan(150);
});
