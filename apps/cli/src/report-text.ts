import type { CheckResult, ReportFinding } from '@glovebox/contract';
import { indented, paint, placeOf, placeText } from './output.ts';

const styles = { error: 'red', warning: 'yellow', notice: 'cyan' } as const;

/** Findings for people: errors first, each with what to do. */
export function findingsText(findings: readonly ReportFinding[]): string {
  return findings.map(findingLines).join('\n');
}

function findingLines(finding: ReportFinding): string {
  const { severity, message, rule, hint, fix } = finding;
  const place = placeText(placeOf(finding));
  return [
    `${paint(styles[severity], severity)} ${place}${indented(message, '    ')} (${rule})`,
    `  ${paint('cyan', 'hint')}: ${indented(hint, '    ')}`,
    ...(fix === undefined ? [] : [`  ${paint('cyan', 'fix')}: ${indented(fix.title, '    ')}`]),
  ].join('\n');
}

/** `5 passed, 1 failed, 1 skipped`. */
export function countsText(checks: readonly CheckResult[]): string {
  const counts = new Map<string, number>();
  for (const { state } of checks) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}
