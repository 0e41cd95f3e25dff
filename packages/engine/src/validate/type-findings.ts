import { cellPaths } from '@glovebox/cell';
import { errorCatalogue, type Finding } from '@glovebox/contract';
import { printable } from '../printable.ts';

const maxFindings = 100;
const maxMessageLength = 1000;

/** Longer than any path in a package. */
const maxPathLength = 2048;

/** Where a diagnostic names its place: `path(line,column): error TS1234: `. */
const placeMark = /\((\d{1,9}),(\d{1,9})\): error TS(\d{1,6}): /g;
const withoutPlace = /^error TS(\d{1,6}): /;

/** How the type checker, which works at the root, spells the author's directory. */
const treePrefix = `${cellPaths.tree.slice(1)}/`;

/** A declaration file of a package or of the toolchain: whatever is wrong in it, its user cannot mend it. */
const foreignDeclaration = new RegExp(
  `^(?:${cellPaths.toolchain.slice(1)}|${treePrefix}node_modules)/[^(]+\\.d\\.(?:[cm]?ts|[^./(]+\\.ts)$`,
);

/** The error of the file that is there to be found; see type-checker.ts of the guest. */
const reachedLine = "tmp/reached.mts(1,14): error TS2322: Type 'number' is not assignable to type 'string'.";

/** What the type checker wrote. */
export interface TypeReport {
  findings: Finding[];
  /** Whether types were checked at all: they are not where a file of anyone's cannot be parsed. */
  reached: boolean;
  /** The first error in the declarations of a package, where there is one. */
  foreign: Finding | undefined;
  /** Whether all of it was read: diagnostics, those that are not looked at among them, and nothing else. */
  complete: boolean;
}

/**
 * The type checker's output, one finding a diagnostic; lines that are indented belong to the one before. Empty where it
 * holds none, whatever else it holds. Errors in the declarations of packages are not looked at.
 *
 * Names of files are the author's choice and may look like anything: the first place that follows the name of a file that
 * is there counts.
 */
export function typeFindings(output: string, files: ReadonlyMap<string, unknown>): TypeReport {
  const findings: Finding[] = [];
  let beyond = 0;
  let reached = false;
  let foreign: Finding | undefined;
  let complete = output === '' || output.endsWith('\n');
  /** What indented lines are added to. */
  let last: Finding | 'passed over' | undefined;
  for (const line of output.split('\n')) {
    if (line === '') continue;
    if (line.startsWith(' ')) {
      if (last === undefined) complete = false;
      else if (last !== 'passed over') last.message = cut(`${last.message} ${clean(line.trim())}`);
      continue;
    }
    if (line === reachedLine) {
      reached = true;
      last = undefined;
      continue;
    }
    const found = isForeign(line) ? 'passed over' : readDiagnostic(line, files);
    last = found;
    if (found === 'passed over') foreign ??= readDiagnostic(line, files);
    if (found === undefined) complete = false;
    if (found === undefined || found === 'passed over') continue;
    if (findings.length < maxFindings) findings.push(found);
    else beyond++;
  }
  if (beyond > 0) findings.push(finding(`There are ${beyond} errors more.`, {}));
  return { findings, complete, reached, foreign };
}

/** A line with more than one place may be about a file whose name looks like one, and is not passed over. */
function isForeign(line: string): boolean {
  const [mark, another] = Array.from(line.matchAll(placeMark)).slice(0, 2);
  return mark !== undefined && another === undefined && foreignDeclaration.test(line.slice(0, mark.index));
}

function readDiagnostic(line: string, files: ReadonlyMap<string, unknown>): Finding | undefined {
  const bare = withoutPlace.exec(line);
  if (bare !== null) return finding(text(bare[1], line.slice(bare[0].length)), {});
  let first: { path: string; match: RegExpExecArray } | undefined;
  for (const match of line.matchAll(placeMark)) {
    if (match.index > maxPathLength) break;
    const path = line.slice(0, match.index);
    first ??= { path, match };
    if (!files.has(withoutTree(path))) continue;
    first = { path, match };
    break;
  }
  if (first === undefined) return undefined;
  const { path, match } = first;
  const message = text(match[3], line.slice(match.index + match[0].length));
  const file = withoutTree(path);
  const place = { line: Number(match[1]), column: Number(match[2]) };
  const dependency = packageOf(file);
  if (dependency === undefined) return finding(message, { file: printable(file), ...place });
  const inside = printable(file.slice(dependency.length + 1));
  return finding(`${inside}(${place.line},${place.column}): ${message}`, { file: printable(dependency) });
}

/** `node_modules/a/node_modules/@b/c` of a path in that package. */
function packageOf(path: string): string | undefined {
  if (!path.startsWith('node_modules/')) return undefined;
  const parts = path.split('/');
  const at = parts.lastIndexOf('node_modules');
  return parts.slice(0, at + (parts[at + 1]?.startsWith('@') ? 3 : 2)).join('/');
}

const text = (code = '', message: string): string => cut(clean(`TS${code}: ${message}`));

/** Where things lie in a cell is nothing that an author knows. */
function clean(unsafeText: string): string {
  return printable(
    unsafeText
      .replaceAll(`${cellPaths.tree}/`, '')
      .replaceAll(`${cellPaths.sdkTypes}/index`, '@glovebox/sdk')
      .replaceAll(`${cellPaths.sdkTypes}/testing`, '@glovebox/sdk/testing'),
    maxMessageLength,
  );
}

const withoutTree = (path: string): string => (path.startsWith(treePrefix) ? path.slice(treePrefix.length) : path);

const cut = (message: string): string =>
  message.length <= maxMessageLength ? message : `${message.slice(0, maxMessageLength)}…`;

function finding(message: string, place: Finding['place']): Finding {
  return { rule: 'TYPES_FAILED', severity: 'error', message, hint: errorCatalogue.TYPES_FAILED.hint, place };
}
