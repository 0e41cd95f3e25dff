import { createHash } from 'node:crypto';
import { cellPaths } from '@glovebox/cell';
import { errorCatalogue, type Finding, type TestRecord, type TestResult } from '@glovebox/contract';
import { printable } from '../printable.ts';

/** Of each kind; the rest is counted. */
const maxFindings = 50;
const maxMessageLength = 1500;

interface Told {
  result: TestResult;
}

/** What two runs of the same tests tell: what failed in both, and where they do not agree. */
export function testFindings({ result: first }: Told, { result: second }: Told): Finding[] {
  const others = byTest(second.tests);
  const failed: Finding[] = [];
  const differing: Finding[] = [];
  for (const [test, records] of byTest(first.tests)) {
    const twins = others.get(test) ?? [];
    others.delete(test);
    for (let i = 0; i < Math.max(records.length, twins.length); i++) {
      const difference = compare(records[i], twins[i]);
      if (difference !== undefined) differing.push(difference);
      else if (records[i]?.verdict === 'failed' && records[i]?.message !== undefined)
        failed.push(failure(records[i] as TestRecord));
    }
  }
  for (const twins of others.values()) for (const twin of twins) differing.push(compare(undefined, twin) as Finding);
  // A test that failed by those in it has no message of its own. Where none of them is told of, it is all there is.
  if (failed.length + differing.length === 0)
    failed.push(...first.tests.filter(({ verdict }) => verdict === 'failed').map(failure));
  const known = failed.length + differing.length > 0;
  const whole = overall(first, known);
  return [...bounded(failed), ...bounded(differing), ...(whole.length > 0 ? whole : overall(second, known))];
}

/** Records of tests by file and name: of one name in a loop there may be many, best first. */
function byTest(tests: readonly TestRecord[]): Map<string, TestRecord[]> {
  const map = new Map<string, TestRecord[]>();
  for (const test of tests) {
    const key = JSON.stringify([test.place?.file, test.name]);
    const records = map.get(key);
    if (records === undefined) map.set(key, [test]);
    else records.push(test);
  }
  for (const records of map.values()) records.sort((a, b) => (a.verdict < b.verdict ? -1 : 1));
  return map;
}

function compare(first: TestRecord | undefined, second: TestRecord | undefined): Finding | undefined {
  if (first?.verdict === second?.verdict) return undefined;
  const test = (first ?? second) as TestRecord;
  const says = (record: TestRecord | undefined): string => record?.verdict ?? 'is not there';
  const why = [first, second].find((record) => record?.message !== undefined)?.message;
  const message = `${nameOf(test)}: ${says(first)} in the first run, ${says(second)} in the second${why === undefined ? '.' : `: ${clean(why)}`}`;
  return finding('TESTS_NONDETERMINISTIC', message, placeOf(test));
}

function failure(test: TestRecord): Finding {
  const why = test.message === undefined ? 'failed' : clean(test.message);
  return finding('TESTS_FAILED', `${nameOf(test)}: ${why}`, placeOf(test));
}

/** What is wrong with a run beside its tests. */
function overall(result: TestResult, known: boolean): Finding[] {
  if (result.moreTests > 0) {
    return [finding('TESTS_FAILED', `There are ${result.moreTests} tests more than can be told of.`, { file: 'test' })];
  }
  if (result.success || known) return [];
  const why = result.diagnostics.map(clean).join(' ');
  return [finding('TESTS_FAILED', why === '' ? 'The runner counts the run as failed.' : why, { file: 'test' })];
}

/** Files of the package that are not as they were after one of the runs. */
export function mutations(
  snapshot: ReadonlyMap<string, Uint8Array>,
  ...runs: readonly TestResult['files'][]
): Finding[] {
  const found = new Map<string, string>();
  for (const files of runs) {
    const after = new Map(files.map(({ path, sha256 }) => [path, sha256]));
    for (const [path, bytes] of snapshot) {
      const digest = after.get(path);
      after.delete(path);
      if (digest === undefined) found.set(path, 'removed');
      else if (digest !== createHash('sha256').update(bytes).digest('hex')) found.set(path, 'changed');
    }
    for (const path of after.keys()) found.set(path, 'made');
  }
  return bounded(
    [...found].map(([path, what]) =>
      finding('TESTS_MUTATE', `The tests ${what} ${printable(path)}.`, { file: printable(path) }),
    ),
  );
}

function bounded(findings: Finding[]): Finding[] {
  const last = findings[maxFindings - 1];
  if (findings.length <= maxFindings || last === undefined) return findings;
  const rest = {
    ...last,
    message: `There are ${findings.length - maxFindings + 1} findings more of this kind.`,
    place: {},
  };
  return [...findings.slice(0, maxFindings - 1), rest];
}

const nameOf = ({ name }: TestRecord): string =>
  name === '' ? 'The file could not be loaded' : `"${printable(name, 200)}"`;

function placeOf({ place }: TestRecord): Finding['place'] {
  if (place === undefined) return { file: 'test' };
  return {
    file: printable(place.file),
    ...(place.line > 0 ? { line: place.line, column: Math.max(1, place.column) } : {}),
  };
}

/** Messages have lines; where things lie in a cell is nothing that an author knows. */
function clean(unsafeText: string): string {
  const text = unsafeText.replaceAll(`file://${cellPaths.tree}/`, '').replaceAll(`${cellPaths.tree}/`, '');
  const lines = text.split('\n').map((line) => printable(line.trimEnd(), maxMessageLength));
  const joined = lines.join('\n').trim();
  return joined.length > maxMessageLength ? `${joined.slice(0, maxMessageLength)}…` : joined;
}

function finding(
  rule: 'TESTS_FAILED' | 'TESTS_NONDETERMINISTIC' | 'TESTS_MUTATE',
  message: string,
  place: Finding['place'],
): Finding {
  return { rule, severity: 'error', message, hint: errorCatalogue[rule].hint, place };
}
