import { errorCatalogue, type Finding, type TestRecord } from '@glovebox/contract';
import { checkInputs, type PackageWithArchives } from '../builder-cell/build-inputs.ts';
import type { BuilderCellOptions } from '../builder-cell/builder-cell.ts';
import { type CheckOutcome, judged } from './outcome.ts';
import { mutations, testFindings } from './test-findings.ts';
import { runTestsOnce, type TestConditions, type TestRun } from './test-run.ts';

/** What a tests cell has for all it does. */
export const testsDeadlineMs = 60_000;

const testFile = /^test\/(?:.+\/)?[^/]+\.test\.ts$/;

/** Two instants that share no year, month, day, weekday, hour or minute. */
const startsMs = [Date.UTC(2026, 0, 1, 0, 0, 0), Date.UTC(2031, 6, 16, 13, 37, 11)] as const;

/**
 * Run the tests of a node package, `test/**\/*.test.ts`, by `node:test` in two fresh cells: once in the order of their
 * names, once in the reverse, so that each two files are seen in both orders; at another date and with other chance.
 *
 * `request.tarballs` are those of `dependencies` and `devDependencies`. Tests run beside what tells of them, so the outcome
 * is what author code says of itself, and `facts.selfReported` says so. Resolves only when both cells are confirmed dead.
 *
 * @throws GloveboxError as CellDriver.boot does, `CELL_BOOT_FAILED`, `CELL_LOST`, `CHANNEL_CORRUPTED` before author code
 *   runs, `INTERRUPTED`.
 */
export async function checkTests(
  request: PackageWithArchives,
  options: BuilderCellOptions & { deadlineMs?: number },
): Promise<CheckOutcome> {
  const refused = checkInputs(request);
  if (refused.length > 0) return judged(refused);
  const files = [...request.pkg.files.keys()].filter((path) => testFile.test(path)).sort();
  if (files.length === 0) return judged([missing('There is no test/<name>.test.ts.')], counts([]));
  const conditions: TestConditions[] = [
    { seed: 1, startMs: startsMs[0], files },
    { seed: 2, startMs: startsMs[1], files: files.toReversed() },
  ];
  const runOnce = (each: TestConditions): Promise<TestRun> =>
    runTestsOnce(request, each, { ...options, deadlineMs: options.deadlineMs ?? testsDeadlineMs });
  const [first, second] = await bothOf(conditions.map(runOnce));
  if (!first.ok) return judged(first.findings, counts(second.ok ? second.result.tests : []));
  if (!second.ok) return judged(second.findings.map(inSecondRun), counts(first.result.tests));
  const { tests } = first.result;
  const findings = [
    ...testFindings(first, second),
    ...mutations(request.pkg.files, first.result.files, second.result.files),
  ];
  if (!tests.some(({ verdict }) => verdict === 'passed' || verdict === 'failed')) {
    findings.push(missing(tests.length === 0 ? 'No file of test/ has a test.' : 'All tests are skipped.'));
  }
  return judged(findings, counts(tests));
}

/** Both are waited for, whatever becomes of one: nothing goes on in the background after this has failed. */
async function bothOf(runs: Promise<TestRun>[]): Promise<[TestRun, TestRun]> {
  await Promise.allSettled(runs);
  const [first, second] = await Promise.all(runs);
  return [first as TestRun, second as TestRun];
}

function counts(tests: readonly TestRecord[]): CheckOutcome['facts'] {
  const passed = tests.filter(({ verdict }) => verdict === 'passed').length;
  const skipped = tests.filter(({ verdict }) => verdict === 'skipped' || verdict === 'todo').length;
  return { selfReported: true, tests: tests.length, passed, skipped };
}

function missing(message: string): Finding {
  return {
    rule: 'TESTS_MISSING',
    severity: 'error',
    message,
    hint: errorCatalogue.TESTS_MISSING.hint,
    place: { file: 'test' },
  };
}

const inSecondRun = (finding: Finding): Finding => ({
  ...finding,
  message: `In the second run, at another date and in reverse order, but not in the first: ${finding.message}`,
});
