import type { ReportFinding } from '@glovebox/contract';
import { type Engine, publishRelease, putDraft } from '@glovebox/engine';
import { expect } from 'vitest';
import { actor, goodPackage, validateFiles } from './validation.ts';

type Files = { [path: string]: string | Uint8Array | null };

/** `state` by check, such as `failed`. */
type States = { [check: string]: string };

/**
 * Validate a package that is to fail, and see to it that nothing came of it: no artifact, no release, and nothing that is
 * still being validated.
 */
export async function refused(
  engine: Engine,
  files: Files | ReadonlyMap<string, Uint8Array>,
): Promise<{ findings: ReportFinding[]; states: States }> {
  const all = files instanceof Map ? files : goodPackage(files as Files);
  const { draft, report, artifact, states } = await validateFiles(engine, all);
  expect([draft.state, draft.artifact, artifact, report.valid], JSON.stringify(report.findings)).toEqual([
    'failed',
    null,
    null,
    false,
  ]);
  await expect(publishRelease(engine, { project: 'default', id: draft.id, actor })).rejects.toMatchObject({
    code: 'NOT_VALIDATED',
  });
  await nothingBegun(engine);
  return { findings: report.findings, states };
}

/** Validate a package that is to pass. */
export async function passed(
  engine: Engine,
  files: Files | ReadonlyMap<string, Uint8Array>,
): Promise<{ findings: ReportFinding[]; artifact: string }> {
  const { artifact, report } = await validateFiles(engine, files instanceof Map ? files : goodPackage(files as Files));
  expect(report.valid, JSON.stringify(report.findings)).toBe(true);
  return { findings: report.findings, artifact: artifact ?? '' };
}

/** Register files that are no set of plain files that say what they are. @returns `rule file:line` of each finding. */
export async function unregistered(engine: Engine, files: Iterable<readonly [string, Uint8Array]>): Promise<string[]> {
  const before = await engine.drafts.list({ project: 'default', limit: 1000 });
  const thrown: unknown = await putDraft(engine, { project: 'default', actor, files }).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ code: 'PACKAGE_INVALID' });
  expect(await engine.drafts.list({ project: 'default', limit: 1000 })).toEqual(before);
  const { findings } = (
    thrown as { details: { findings: { rule: string; place: { file?: string; line?: number } }[] } }
  ).details;
  return findings.map(
    ({ rule, place: { file = '', line } }) => `${rule} ${file}${line === undefined ? '' : `:${line}`}`,
  );
}

async function nothingBegun(engine: Engine): Promise<void> {
  const drafts = await engine.drafts.list({ project: 'default', limit: 1000 });
  expect(drafts.filter(({ state }) => state === 'validating')).toEqual([]);
}

/** Errors alone, as `check rule file:line`. */
export const errorsIn = (findings: readonly ReportFinding[]): string[] =>
  findings
    .filter(({ severity }) => severity === 'error')
    .map(({ check, rule, file, line }) => `${check} ${rule} ${file ?? ''}${line === null ? '' : `:${line}`}`);
