import type { ErrorCode, Finding, Place } from '@glovebox/contract';
import { errorCatalogue } from '@glovebox/contract/errors';

/** The checks that are done by reading alone. */
export const staticChecks = ['package', 'manifest', 'lockfile'] as const;
export type StaticCheck = (typeof staticChecks)[number];

/** A finding of reading a package, with the check that it belongs to. */
export interface StaticFinding extends Finding {
  check: StaticCheck;
}

const maxFindings = 200;
const severities: readonly Finding['severity'][] = ['error', 'warning', 'notice'];
const rest: Readonly<Record<StaticCheck, ErrorCode>> = {
  package: 'PACKAGE_INVALID',
  manifest: 'MANIFEST_INVALID',
  lockfile: 'LOCKFILE_INVALID',
};

/** Schemas of the author stand in node.json; all that is about neither it nor the lockfile is about the package. */
export function checkOf(rule: ErrorCode): StaticCheck {
  if (rule.startsWith('LOCKFILE_')) return 'lockfile';
  const ofManifest = rule.startsWith('MANIFEST_') || rule.startsWith('SCHEMA_') || rule === 'NOT_AVAILABLE_YET';
  return ofManifest ? 'manifest' : 'package';
}

/**
 * Gathers what checks find, in order: of each check at most 200 of a severity and 200 in all; what is beyond is counted in
 * a last finding. No check's faults crowd out another's, and no notice an error.
 */
export class Findings {
  readonly #list: StaticFinding[] = [];
  readonly #counts = new Map<string, number>();
  #errors = 0;

  get hasErrors(): boolean {
    return this.#errors > 0;
  }

  error(rule: ErrorCode, message: string, place: Place = {}, hint?: string, fix?: Finding['fix']): void {
    this.#errors++;
    this.#add('error', rule, message, place, hint, fix);
  }

  warning(rule: ErrorCode, message: string, place: Place = {}, hint?: string, fix?: Finding['fix']): void {
    this.#add('warning', rule, message, place, hint, fix);
  }

  notice(rule: ErrorCode, message: string, place: Place = {}, hint?: string, fix?: Finding['fix']): void {
    this.#add('notice', rule, message, place, hint, fix);
  }

  #add(
    severity: Finding['severity'],
    rule: ErrorCode,
    message: string,
    place: Place,
    hint: string = errorCatalogue[rule].hint,
    fix?: Finding['fix'],
  ): void {
    const check = checkOf(rule);
    const key = `${check} ${severity}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    // Hostile trees have any number of faults: a report stays small enough to show.
    if (count > maxFindings) return;
    this.#list.push({ check, rule, severity, message, hint, place, ...(fix === undefined ? {} : { fix }) });
  }

  /** Errors before warnings before notices; of each, check by check, in the order in which they were found. */
  all(): StaticFinding[] {
    return staticChecks.flatMap((check) => this.#of(check)).sort((a, b) => rank(a) - rank(b));
  }

  #of(check: StaticCheck): StaticFinding[] {
    const shown = severities
      .flatMap((severity) => this.#list.filter((finding) => finding.check === check && finding.severity === severity))
      .slice(0, maxFindings);
    const counted = severities.map((severity) => this.#counts.get(`${check} ${severity}`) ?? 0);
    const beyond = counted.reduce((sum, count) => sum + count, 0) - shown.length;
    if (beyond === 0) return shown;
    const severity = severities.find((_severity, index) => (counted[index] ?? 0) > 0) ?? 'notice';
    const message = `${beyond} further findings are left out`;
    return [
      ...shown,
      { check, rule: rest[check], severity, message, hint: 'Mend the ones above and run it again.', place: {} },
    ];
  }
}

const rank = ({ severity }: Finding): number => severities.indexOf(severity);
