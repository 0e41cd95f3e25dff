import { toErrorData } from '@glovebox/contract';
import { type ConformanceResult, conformanceChecks } from './conformance.ts';
import type { CellFacts, HostFact } from './driver.ts';
import { witnessedCases } from './witnessed-cases.ts';

/** How reports of hosts are made, by every driver alike. */
export type FactOutcome = Pick<HostFact, 'state' | 'detail'> & { hint?: string };

export const hostFact = (name: string, required: boolean, outcome: FactOutcome): HostFact => ({
  name,
  required,
  ...outcome,
});
export const inForce = (detail: string): FactOutcome => ({ state: 'in-force', detail });
export const missing = (detail: string, hint: string): FactOutcome => ({ state: 'missing', detail, hint });

/** What a check that throws says is missing. */
export function caught(thrown: unknown): FactOutcome {
  const { message, hint } = toErrorData(thrown);
  return { state: 'missing', detail: message, ...(hint === undefined ? {} : { hint }) };
}

/** Without a probe nothing was seen, and what was not seen is not in force. */
export const unprobedFacts = (): HostFact[] =>
  conformanceChecks.map(({ property, claim }) =>
    hostFact(property, true, { state: 'unknown', detail: `not probed: ${claim}` }),
  );

/** What a probe showed, and which limits the driver set on its cell. */
export function probedFacts(facts: CellFacts, results: readonly ConformanceResult[]): HostFact[] {
  const limits = witnessedCases.flatMap(({ property, required }) =>
    required === undefined
      ? []
      : hostFact(
          property,
          required,
          facts.properties.includes(property)
            ? inForce('set on the probe cell')
            : { state: 'degraded', detail: 'this kernel or runtime does not offer it' },
        ),
  );
  const judged = results.map(({ property, claim, violations, unseen }) =>
    hostFact(
      property,
      unseen === undefined || violations.length > 0,
      violations.length === 0 && unseen !== undefined
        ? {
            state: 'degraded',
            detail: `${claim}; that nobody else is in that namespace is the engine's word: ${unseen}`,
            hint: "Look as root, on the engine's host and in its pid namespace.",
          }
        : violations.length === 0
          ? inForce(claim)
          : { state: 'missing', detail: violations.slice(0, 5).join('; '), hint: 'Do not run nodes on this host.' },
    ),
  );
  return [...limits, ...judged, hostFact('probe-cell', true, inForce('booted, read and removed'))];
}

/** With an image everything required must be in force; without one, what was not looked at is left open. */
export const isUsable = (facts: readonly HostFact[], probed: boolean): boolean =>
  facts.every(({ required, state }) => !required || state === 'in-force' || (!probed && state === 'unknown'));
