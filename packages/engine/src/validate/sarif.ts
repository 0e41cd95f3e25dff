import { type ErrorCode, errorCatalogue, type Json, type Report, type ReportFinding } from '@glovebox/contract';

const levels = { error: 'error', warning: 'warning', notice: 'note' } as const;

/**
 * A report in the Static Analysis Results Interchange Format 2.1.0 (OASIS), for whatever shows findings in place. Files are
 * relative to the package's root, `%SRCROOT%`.
 */
export function reportToSarif(report: Report): Json {
  const ruleIds = [...new Set(report.findings.map(({ rule }) => rule))].sort();
  const done = report.checks.every(({ state }) => state === 'passed' || state === 'failed' || state === 'skipped');
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'Glovebox', rules: ruleIds.map(ruleOf) } },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { '%SRCROOT%': { description: { text: 'The root of the node package.' } } },
        invocations: [{ executionSuccessful: done }],
        properties: {
          project: report.project,
          id: report.id,
          version: report.version,
          revision: report.revision,
          valid: report.valid,
          toolchain: report.toolchain,
        },
        results: report.findings.map((finding) => resultOf(finding, ruleIds)),
      },
    ],
  };
}

function ruleOf(id: string): Json {
  const known = Object.hasOwn(errorCatalogue, id) ? errorCatalogue[id as ErrorCode] : undefined;
  if (known === undefined) return { id };
  return { id, shortDescription: { text: known.summary }, help: { text: known.hint } };
}

function resultOf(finding: ReportFinding, ruleIds: readonly string[]): Json {
  const { rule, severity, check, file, path, message, hint, fix } = finding;
  return {
    ruleId: rule,
    ruleIndex: ruleIds.indexOf(rule),
    level: levels[severity],
    message: { text: `${message}\n${hint}` },
    ...(file === null ? {} : { locations: [{ physicalLocation: locationOf(finding, file) }] }),
    ...(fix === undefined ? {} : { fixes: [fixOf(fix)] }),
    properties: { check, ...(path === null ? {} : { pointer: path }) },
  };
}

function locationOf({ line, column }: ReportFinding, file: string): { [key: string]: Json } {
  const region =
    line === null ? {} : { region: { startLine: line, ...(column === null ? {} : { startColumn: column }) } };
  return { artifactLocation: artifactLocation(file), ...region };
}

function fixOf({ title, edits }: NonNullable<ReportFinding['fix']>): Json {
  const files = [...new Set(edits.map(({ file }) => file))];
  return {
    description: { text: title },
    artifactChanges: files.map((file) => ({
      artifactLocation: artifactLocation(file),
      replacements: edits
        .filter((edit) => edit.file === file)
        .map(({ start, end, text }) => ({
          deletedRegion: {
            startLine: start.line,
            startColumn: start.column,
            endLine: end.line,
            endColumn: end.column,
          },
          insertedContent: { text },
        })),
    })),
  };
}

/** A URI reference: names of files may hold anything that a URI may not. */
function artifactLocation(file: string): { [key: string]: Json } {
  const uri = file.toWellFormed().split('/').map(encodeURIComponent).join('/');
  return { uri, uriBaseId: '%SRCROOT%' };
}
