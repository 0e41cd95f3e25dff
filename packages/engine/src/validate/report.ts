import type { Draft, Report } from '@glovebox/contract';
import type { Checklist } from './checklist.ts';

/** `none`: no check failed, but not all of them could be done. It says nothing about the draft. */
export type Verdict = 'passed' | 'failed' | 'none';

export function verdictOf(checklist: Checklist): Verdict {
  const states = checklist.results().map(({ state }) => state);
  if (states.includes('failed')) return 'failed';
  return states.every((state) => state === 'passed') ? 'passed' : 'none';
}

/** @param toolchain see toolchainText. */
export function reportOf(draft: Draft, checklist: Checklist, toolchain: string[]): Report {
  const { project, id, version, revision } = draft;
  return {
    schema: 'glovebox.report/1',
    project,
    id,
    version,
    revision,
    valid: verdictOf(checklist) === 'passed',
    checks: checklist.results(),
    findings: checklist.findings(),
    toolchain,
  };
}
