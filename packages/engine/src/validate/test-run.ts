import { randomBytes } from 'node:crypto';
import { type CellEnd, planTestsCell } from '@glovebox/cell';
import { errorCatalogue, type Finding, GloveboxError, type TestResult } from '@glovebox/contract';
import { inputsOf, type PackageWithArchives } from '../builder-cell/build-inputs.ts';
import {
  type BuilderCellOptions,
  type BuilderResult,
  maxPrintedBytes,
  settled,
  useBuilderCell,
} from '../builder-cell/builder-cell.ts';
import { explainEnd, firstLines, howItEnded } from '../builder-cell/explain-end.ts';
import { Printed } from '../builder-cell/printed.ts';
import { unpackFindings } from '../builder-cell/unpack-findings.ts';
import { printable } from '../printable.ts';
import { TestChannel } from './test-channel.ts';

/** What is different from one run of the tests to the other. */
export interface TestConditions {
  seed: number;
  startMs: number;
  /** Test files in the order in which they are run. */
  files: readonly string[];
}

/** What one cell told of the tests, or why it told nothing. */
export type TestRun = { ok: true; result: TestResult } | { ok: false; findings: Finding[] };

/**
 * Run the tests of a package once, in a fresh cell.
 *
 * @throws GloveboxError for what is nobody's doing but ours or the host's.
 */
export async function runTestsOnce(
  request: PackageWithArchives,
  conditions: TestConditions,
  options: BuilderCellOptions & { deadlineMs: number },
): Promise<TestRun> {
  const { seed, startMs, files } = conditions;
  const channel = new TestChannel({ nonce: randomBytes(16).toString('hex'), seed, startMs, files: [...files] });
  let printed: Printed | undefined;
  const run = await useBuilderCell<TestResult | GloveboxError>(options, {
    plan: planTestsCell(options.image, options.cellClass),
    inputs: inputsOf(request),
    deadlineMs: options.deadlineMs,
    serve: (stream) => channel.accept(stream),
    work: ({ stdout, kill }, gone) => {
      printed = new Printed(stdout, maxPrintedBytes, () => kill('violation'));
      return awaitResult(channel, gone);
    },
  });
  return conclude(run, channel, `${printed?.text() ?? ''}\n${run.stderrText}`);
}

/** A channel that breaks is an outcome here, however it does: author code can reach it. */
async function awaitResult(channel: TestChannel, gone: Promise<'gone'>): Promise<TestResult | GloveboxError | 'ended'> {
  try {
    const result = await Promise.race([channel.result, gone.then(() => settled(channel.result))]);
    return result === 'unsettled' ? 'ended' : result;
  } catch (error) {
    if (GloveboxError.is(error)) return error;
    throw error;
  }
}

function conclude(
  { outcome, end, stderrText }: BuilderResult<TestResult | GloveboxError>,
  channel: TestChannel,
  printed: string,
): TestRun {
  if (outcome.kind === 'refused') return { ok: false, findings: unpackFindings(outcome.report) };
  if (outcome.kind === 'ended')
    return { ok: false, findings: [explainTestEnd(outcome.during, end, stderrText, printed)] };
  const { value } = outcome;
  if (value instanceof GloveboxError) {
    // What was told broke off because the cell was killed over it.
    const killed = end.cause === 'deadline' || end.cause === 'lifetime' || end.cause === 'oom';
    const finding = killed ? explainTestEnd('work', end, stderrText, printed) : brokenOff(value.message, printed);
    return { ok: false, findings: [finding] };
  }
  // What came after the first result was seen before the cell was dead.
  if (channel.broken)
    return { ok: false, findings: [brokenOff('The tests wrote to the channel of their cell.', printed)] };
  return { ok: true, result: value };
}

function explainTestEnd(
  during: 'boot' | 'unpack' | 'work',
  end: CellEnd,
  stderrText: string,
  printed: string,
): Finding {
  const why = explainEnd(during, end, stderrText);
  // Before the tests no author code has run.
  if (during !== 'work' && GloveboxError.is(why)) throw why;
  if (why === 'time') {
    return finding('TESTS_TIMED_OUT', `${errorCatalogue.TESTS_TIMED_OUT.summary}${told(printed)}`);
  }
  if (why === 'memory') return brokenOff('The tests used all of the memory of their cell.', printed);
  if (end.cause === 'violation') return brokenOff('The tests printed without end and were stopped.', printed);
  return brokenOff(`The process ended before it told a result (${howItEnded(end)}).`, printed);
}

const brokenOff = (message: string, printed: string): Finding =>
  finding('TESTS_BROKEN_OFF', `${printable(message, 500)}${told(printed)}`);

/** What the tests printed is text for people; nothing is read from it. */
function told(printed: string): string {
  const lines = firstLines(printed);
  return lines === '' ? '' : ` They printed: ${lines}`;
}

function finding(rule: 'TESTS_TIMED_OUT' | 'TESTS_BROKEN_OFF', message: string): Finding {
  return { rule, severity: 'error', message, hint: errorCatalogue[rule].hint, place: { file: 'test' } };
}
