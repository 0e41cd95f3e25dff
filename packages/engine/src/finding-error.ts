import type { Finding, Json } from '@glovebox/contract';

/** Options of an error that stands for findings: all of them as details, and the first error for those who read one line. */
export function fromFindings(findings: Finding[]): {
  message?: string;
  place?: Finding['place'];
  hint?: string;
  details: Json;
} {
  const first = findings.find(({ severity }) => severity === 'error') ?? findings[0];
  return {
    ...(first ? { message: first.message, place: first.place, hint: first.hint } : {}),
    details: { findings: findings as unknown as Json },
  };
}
