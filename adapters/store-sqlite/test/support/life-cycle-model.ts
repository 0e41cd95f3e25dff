import type { DraftState, ReleaseState } from '@glovebox/contract';
import type { PassedValidation } from '@glovebox/engine';
import type { PutDraft } from './drafts.ts';

interface ModelDraft {
  draft: PutDraft;
  state: DraftState;
  validation?: string;
  passed?: PassedValidation;
}

interface ModelRelease {
  passed: PassedValidation;
  revision: string;
  state: ReleaseState;
  reason: string | null;
}

/** The life cycle in as few words as it takes: maps in place of a database. Each method gives the answer that a store must give. */
export class LifeCycleModel {
  readonly drafts = new Map<string, ModelDraft>();
  readonly releases = new Map<string, ModelRelease>();
  /** Actions in order. */
  readonly audit: string[] = [];

  put(draft: PutDraft): string {
    const now = this.drafts.get(draft.id);
    if (now?.draft.revision === draft.revision) return 'unchanged';
    const released = this.releases.get(`${draft.id}@${draft.version}`);
    if (released && released.revision !== draft.revision) return 'version-released';
    if (now?.state === 'validating') return 'busy';
    this.drafts.set(draft.id, { draft, state: 'draft' });
    return this.#told('draft.put', now ? 'replaced' : 'created');
  }

  begin(draft: PutDraft, validation: string): string {
    const now = this.drafts.get(draft.id);
    if (!now) return 'absent';
    if (now.draft.revision !== draft.revision) return 'stale';
    if (now.state === 'released') return 'released';
    if (now.state === 'validating') return 'busy';
    this.drafts.set(draft.id, { draft, state: 'validating', validation });
    return this.#told('draft.validation-began', 'begun');
  }

  holder(validation: string): PutDraft | undefined {
    return [...this.drafts.values()].find((each) => each.validation === validation)?.draft;
  }

  end(validation: string, passed: PassedValidation | null): string {
    const draft = this.holder(validation);
    if (!draft) return 'stale';
    this.drafts.set(draft.id, passed ? { draft, state: 'passed', passed } : { draft, state: 'failed' });
    return this.#told('draft.validation-ended', 'ended');
  }

  abandon(validation: string): string {
    const draft = this.holder(validation);
    if (!draft) return 'stale';
    this.drafts.set(draft.id, { draft, state: 'draft' });
    return this.#told('draft.validation-abandoned', 'abandoned');
  }

  publish(draft: PutDraft, passed: PassedValidation): string {
    const now = this.drafts.get(draft.id);
    if (!now) return 'absent';
    if (now.draft.revision !== draft.revision) return 'stale';
    if (!now.passed) return 'not-passed';
    if (now.passed.artifact !== passed.artifact) return 'stale';
    const ref = `${draft.id}@${draft.version}`;
    const there = this.releases.get(ref);
    if (there) return there.passed.artifact === passed.artifact ? 'unchanged' : 'version-exists';
    this.releases.set(ref, { passed, revision: draft.revision, state: 'active', reason: null });
    now.state = 'released';
    return this.#told('release.published', 'published');
  }

  setState({ id, version }: PutDraft, state: ReleaseState, reason: string | null): string {
    const release = this.releases.get(`${id}@${version}`);
    if (!release) return 'absent';
    if (release.state === 'revoked') return state === 'revoked' ? 'unchanged' : 'revoked';
    if (release.state === state && release.reason === reason) return 'unchanged';
    Object.assign(release, { state, reason });
    return this.#told(`release.${state === 'active' ? 'undeprecated' : state}`, 'changed');
  }

  #told(action: string, answer: string): string {
    this.audit.push(action);
    return answer;
  }
}
