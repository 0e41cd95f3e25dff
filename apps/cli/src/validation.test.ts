import { type CheckState, checkIds, type ReportFinding } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { refusalOf, statusOf, type Validation } from './validation.ts';

function validation(
  states: Partial<Record<(typeof checkIds)[number], CheckState>>,
  rules: [string, string][] = [],
): Validation {
  return {
    draft: null,
    state: 'draft',
    artifact: null,
    checks: checkIds.map((id) => ({
      id,
      state: states[id] ?? 'passed',
      durationMs: 0,
      cached: false,
      findings: 0,
      facts: {},
    })),
    findings: rules.map(([check, rule]) => ({ check, rule, severity: 'error' }) as ReportFinding),
  };
}

describe('a validation that did not pass', () => {
  it.each<[string, Validation, string, number]>([
    [
      'by what a check found, whatever else happened',
      validation({ types: 'failed', tests: 'cancelled', build: 'unavailable' }),
      'VALIDATION_FAILED',
      1,
    ],
    ['by who stopped it', validation({ tests: 'cancelled', build: 'unavailable' }), 'INTERRUPTED', 130],
    [
      'by what this host lacks',
      validation({ tests: 'unavailable' }, [
        ['package', 'PACKAGE_INVALID'],
        ['tests', 'CGROUP_UNAVAILABLE'],
      ]),
      'CGROUP_UNAVAILABLE',
      3,
    ],
    [
      'by what the registry did not give',
      validation({ lockfile: 'unavailable' }, [['lockfile', 'REGISTRY_UNAVAILABLE']]),
      'REGISTRY_UNAVAILABLE',
      1,
    ],
    ['by what has no code here', validation({ tests: 'unavailable' }, [['tests', 'toString']]), 'VALIDATION_FAILED', 1],
  ])('is told %s', (_why, refused, code, exit) => {
    expect([refusalOf(refused), statusOf(refused)]).toEqual([code, exit]);
    expect(statusOf({ ...refused, state: 'passed' })).toBe(0);
    expect(statusOf({ ...refused, state: 'released' })).toBe(0);
  });
});
