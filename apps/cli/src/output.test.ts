import type { ErrorData, Json } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { errorText } from './output.ts';

const hint = 'Mend it.';
const report = (message: string) => ({
  rule: 'FIXTURE_DIFFERS',
  severity: 'error',
  check: 'fixtures',
  file: 'fixtures/basic.json',
  path: null,
  line: 3,
  column: null,
  message,
  hint,
});
const found = (message: string) => ({
  rule: 'BUILD_FAILED',
  severity: 'error',
  message,
  hint,
  place: { file: 'src/a.ts', line: 2, column: 5 },
});
const error = (message: string, ...findings: object[]): ErrorData => ({
  code: 'VALIDATION_FAILED',
  message,
  hint,
  details: { findings: findings as Json[] },
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are no matter here
const plain = (text: string): string => text.replace(/\u001b\[\d+m/g, '');

it.each<[string, ErrorData, string[]]>([
  ['the one finding that it is made of, as its place', error('x is wrong', found('x is wrong')), ['  at src/a.ts:2:5']],
  [
    'one finding that says more',
    error('It failed', report('x: 1, not 2')),
    ['  fixtures/basic.json:3 x: 1, not 2 (FIXTURE_DIFFERS)'],
  ],
  [
    'several findings, of a check and of a report',
    error('2 findings', found('x is wrong'), report('y differs')),
    ['  src/a.ts:2:5 x is wrong (BUILD_FAILED)', '  fixtures/basic.json:3 y differs (FIXTURE_DIFFERS)'],
  ],
  ['no finding', error('It failed'), []],
])('an error tells %s', (_what, data, lines) => {
  expect(plain(errorText(data)).split('\n')).toEqual([
    `error VALIDATION_FAILED: ${data.message}`,
    ...lines,
    `  hint: ${hint}`,
  ]);
});
