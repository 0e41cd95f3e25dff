import type { TestRecord, TestResult } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { testFindings } from './test-findings.ts';

const place = { file: 'test/a.test.ts', line: 3, column: 1 };
const record = (verdict: TestRecord['verdict'], more: Partial<TestRecord> = {}): TestRecord => ({
  name: 'adds',
  verdict,
  place,
  ...more,
});
const ran = (tests: TestRecord[], success = true): { result: TestResult } => ({
  result: { nonce: '0'.repeat(32), success, tests, moreTests: 0, diagnostics: [], files: [] },
});
const told = (tests: TestRecord[], success?: boolean) =>
  testFindings(ran(tests, success), ran(tests, success)).map(({ rule, message }) => [rule, message]);

describe('a run that calls itself a success', () => {
  it('is one when all tests passed', () => {
    expect(told([record('passed')])).toEqual([]);
  });

  it.each([{ message: 'no' }, {}])('is none when a test failed, with %j', (more) => {
    const why = more.message ?? 'failed';
    expect(told([record('failed', more)])).toEqual([['TESTS_FAILED', `"adds": ${why}`]]);
    expect(told([record('passed', { name: 'other' }), record('failed', more)])).toHaveLength(1);
  });
});

describe('a test that failed by a test in it', () => {
  it('is not told beside that', () => {
    const inner = record('failed', { name: 'adds > one', message: 'no' });
    expect(told([inner, record('failed')], false)).toEqual([['TESTS_FAILED', '"adds > one": no']]);
  });
});
