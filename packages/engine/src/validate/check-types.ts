import { type Cell, planTypesCell } from '@glovebox/cell';
import { errorCatalogue, type Finding, gatherBody } from '@glovebox/contract';
import { checkInputs, inputsOf, type PackageWithArchives } from '../builder-cell/build-inputs.ts';
import { type BuilderCellOptions, type BuilderResult, useBuilderCell } from '../builder-cell/builder-cell.ts';
import { explainEnd, firstLines, howItEnded } from '../builder-cell/explain-end.ts';
import { unpackFindings } from '../builder-cell/unpack-findings.ts';
import { type CheckOutcome, judged } from './outcome.ts';
import { suppressedTypes } from './suppressed-types.ts';
import { typeFindings } from './type-findings.ts';

/** What a types cell has for all it does. */
export const typesDeadlineMs = 60_000;

/** What is read of the type checker's output; the rest is only more of the same. */
const maxOutputBytes = 1024 * 1024;

/** How long the type checker may live on after it has closed its output. */
const exitGraceMs = 2_000;

/** `undefined`: it wrote more than is read. */
type Output = { text: string | undefined };

/**
 * Check the types of a node package's sources and tests in a fresh cell, by our settings: nothing of the author's
 * configuration is read, no script of the package runs, no author code at all.
 *
 * `request.tarballs` are those of `dependencies` and `devDependencies`. What the type checker says is a pass only where it
 * found the error that is there to be found, and no other but in declarations of packages, all of which it looks at as soon
 * as the author has one. Resolves only when the cell is confirmed dead.
 *
 * @throws GloveboxError as CellDriver.boot does, `CELL_BOOT_FAILED`, `CELL_LOST`, `CHANNEL_CORRUPTED`, `INTERRUPTED`.
 */
export async function checkTypes(
  request: PackageWithArchives,
  options: BuilderCellOptions & { deadlineMs?: number },
): Promise<CheckOutcome> {
  const refused = checkInputs(request);
  if (refused.length > 0) return judged(refused);
  const result = await useBuilderCell<Output>(options, {
    plan: planTypesCell(options.image, options.cellClass),
    inputs: inputsOf(request),
    deadlineMs: options.deadlineMs ?? typesDeadlineMs,
    work: readOutput,
  });
  return judged([...suppressedTypes(request.pkg.files), ...conclude(result, request)]);
}

/** All that it writes, until it has ended by itself: its exit code is its verdict. */
async function readOutput(cell: Cell): Promise<Output | 'ended'> {
  // A stream that breaks instead of ending means the same.
  const bytes = await gatherBody(cell.stdout, maxOutputBytes).catch(() => 'ended' as const);
  if (bytes === 'ended') return 'ended';
  if (bytes === undefined) return { text: undefined };
  const timer = setTimeout(() => cell.kill('violation'), exitGraceMs);
  await cell.ended;
  clearTimeout(timer);
  return { text: bytes.toString('utf8') };
}

function conclude({ outcome, end, stderrText }: BuilderResult<Output>, { pkg }: PackageWithArchives): Finding[] {
  if (outcome.kind === 'refused') return unpackFindings(outcome.report);
  const text = outcome.kind === 'done' ? outcome.value.text : '';
  const { findings, complete, reached, foreign } = typeFindings(text ?? '', pkg.files);
  if (outcome.kind === 'done') {
    if (text === undefined) return [failed('The type checker reports more errors than are read.')];
    const hasErrors = end.cause === 'self' && (end.exit.code === 1 || end.exit.code === 2);
    if (end.cause === 'self' && end.exit.code !== 0 && findings.length > 0) return findings;
    if (hasErrors && complete && stderrText === '') {
      if (reached) return [];
      if (foreign !== undefined) return [unreadable(foreign)];
    }
  }
  const why = explainEnd(outcome.kind === 'ended' ? outcome.during : 'work', end, stderrText);
  if (why === 'time') return [{ ...failed('The type check took too long.'), ...timedOut }];
  if (why === 'memory') return [{ ...failed('The type check took all of its memory.'), ...timedOut }];
  if (outcome.kind === 'ended') throw why;
  // A type checker that breaks off over these sources would do so again: it is the package that does not pass.
  return [failed(`The type checker gave no verdict (${howItEnded(end)}): ${firstLines(`${text}\n${stderrText}`)}`)];
}

/** Where a declaration cannot be parsed, nothing of the package is checked. */
const unreadable = (foreign: Finding): Finding => ({
  ...foreign,
  message: `The declarations cannot be read, so that nothing was checked: ${foreign.message}`,
  hint: 'Use another version of the package.',
});

const timedOut = { rule: 'TYPES_TIMED_OUT', hint: errorCatalogue.TYPES_TIMED_OUT.hint } as const;

function failed(message: string): Finding {
  return { rule: 'TYPES_FAILED', severity: 'error', message, hint: errorCatalogue.TYPES_FAILED.hint, place: {} };
}
