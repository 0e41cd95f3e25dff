import { createHash } from 'node:crypto';
import type { AuditAction, AuditEvent, DraftState, Report } from '@glovebox/contract';
import type { DraftStore, PassedValidation } from '@glovebox/engine';
import type { Store } from '@glovebox/store-sqlite';
import { owner } from './records.ts';

export type PutDraft = Parameters<DraftStore['put']>[0];

export const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** A draft to put. Two with the same members are the same revision; `salt` makes another one. */
export function makeDraft(
  over: { project?: string; id?: string; version?: string; salt?: string | number } = {},
): PutDraft {
  const { project = 'default', id = 'csv-profile', version = '1.0.0', salt = '' } = over;
  const revision = digestOf(`revision ${id} ${version} ${salt}`);
  return { project, id, version, revision, title: `Node ${id}`, snapshot: digestOf(`snapshot of ${revision}`) };
}

/** What a validation finds; with another toolchain it makes another artifact of the same revision. */
export function passedOf(draft: PutDraft, toolchain = 'node@26'): PassedValidation {
  return {
    artifact: digestOf(`artifact ${draft.revision} ${toolchain}`),
    image: digestOf('image'),
    permissions: digestOf(`permissions ${draft.id}`),
  };
}

export function reportOf(draft: PutDraft, valid: boolean): Report {
  const { project, id, version, revision } = draft;
  return {
    schema: 'glovebox.report/1',
    project,
    id,
    version,
    revision,
    valid,
    checks: [],
    findings: [],
    toolchain: ['node@26.12.1'],
  };
}

export const atMs = 1_790_000_000_000;

export function eventOf(
  draft: { project: string; id: string; version: string },
  action: AuditAction,
  details: AuditEvent['details'] = {},
): AuditEvent {
  const { project, id, version } = draft;
  return { atMs, actor: 'local:uid=7', project, action, subject: `${project}/${id}@${version}`, details };
}

/** The transitions, with what they need filled in. */
export const steps = {
  put: ({ drafts }: Store, draft: PutDraft) => drafts.put(draft, eventOf(draft, 'draft.put')),
  begin: ({ drafts }: Store, draft: PutDraft, validation: string, by = owner) =>
    drafts.beginValidation(
      { project: draft.project, id: draft.id, revision: draft.revision, validation, owner: by, atMs },
      eventOf(draft, 'draft.validation-began'),
    ),
  end: async ({ drafts }: Store, draft: PutDraft, validation: string, result: PassedValidation | null) =>
    (
      await drafts.endValidation(
        { validation, atMs, report: reportOf(draft, result !== null), result },
        eventOf(draft, 'draft.validation-ended'),
      )
    ).kind,
  abandon: async ({ drafts }: Store, draft: PutDraft, validation: string) =>
    (await drafts.abandonValidation(validation, eventOf(draft, 'draft.validation-abandoned'))).kind,
  publish: ({ releases }: Store, draft: PutDraft, passed = passedOf(draft)) =>
    releases.publish(
      { project: draft.project, id: draft.id, revision: draft.revision, passed, publishedBy: 'local:uid=8', atMs },
      eventOf(draft, 'release.published'),
    ),
  setState: (
    { releases }: Store,
    { project, id, version }: PutDraft,
    state: 'active' | 'deprecated' | 'revoked',
    reason: string | null,
  ) => {
    const action = { active: 'undeprecated', deprecated: 'deprecated', revoked: 'revoked' } as const;
    return releases.setState(
      { project, id, version, state, reason, atMs: atMs + 1 },
      eventOf({ project, id, version }, `release.${action[state]}`),
    );
  },
  setImage: ({ releases }: Store, { project, id, version }: PutDraft, from: string, to: string) =>
    releases.setImage(
      { project, id, version, from, to, atMs: atMs + 2 },
      eventOf({ project, id, version }, 'release.revalidated'),
    ),
};

/** Lead a draft from nothing to a state. While it is validating, the validation is called `holder of <id>`. */
export async function bringTo(store: Store, draft: PutDraft, state: DraftState | 'absent'): Promise<void> {
  if (state === 'absent') return;
  await steps.put(store, draft);
  if (state === 'draft') return;
  await steps.begin(store, draft, `holder of ${draft.id}`);
  if (state === 'validating') return;
  await steps.end(store, draft, `holder of ${draft.id}`, state === 'failed' ? null : passedOf(draft));
  if (state === 'released') await steps.publish(store, draft);
}
