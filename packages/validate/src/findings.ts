import type { ErrorCode, Finding, Place } from '@glovebox/contract';
import { errorCatalogue } from '@glovebox/contract/errors';

const maxFindings = 200;

/** Gathers what checks find: errors and warnings, in order, at most 200; what is beyond is counted in a last finding. */
export class Findings {
  readonly #list: Finding[] = [];
  #errors = 0;
  #beyond = 0;

  get hasErrors(): boolean {
    return this.#errors > 0;
  }

  error(rule: ErrorCode, message: string, place: Place = {}, hint?: string): void {
    this.#errors++;
    this.#add({ rule, severity: 'error', message, hint: hint ?? errorCatalogue[rule].hint, place });
  }

  warning(rule: ErrorCode, message: string, place: Place = {}, hint?: string): void {
    this.#add({ rule, severity: 'warning', message, hint: hint ?? errorCatalogue[rule].hint, place });
  }

  #add(finding: Finding): void {
    // Hostile trees have any number of faults: a report stays small enough to show.
    if (this.#list.length >= maxFindings) this.#beyond++;
    else this.#list.push(finding);
  }

  /** Errors before warnings, each in the order in which they were found. */
  all(): Finding[] {
    const list = [...this.#list].sort((a, b) => rank(a) - rank(b));
    if (this.#beyond === 0) return list;
    const rest: Finding = {
      rule: 'PACKAGE_INVALID',
      severity: this.#errors > 0 ? 'error' : 'warning',
      message: `${this.#beyond} further findings are left out`,
      hint: 'Mend the ones above and run it again.',
      place: {},
    };
    return [...list, rest];
  }
}

const rank = ({ severity }: Finding): number => (severity === 'error' ? 0 : 1);
