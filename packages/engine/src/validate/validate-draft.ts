import {
  type AuditEvent,
  type Digest,
  type Draft,
  GloveboxError,
  newValidationId,
  type Report,
} from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import { ownIdentity } from '../host.ts';
import type { DraftRecord, PassedValidation } from '../ports.ts';
import { type CheckEvent, Checklist } from './checklist.ts';
import { keepArtifact } from './keep-artifact.ts';
import { loadDraftFiles } from './load-draft.ts';
import { reportOf, verdictOf } from './report.ts';
import { runChecks } from './run-checks.ts';
import { freeDraft, giveUp } from './stuck-validations.ts';
import { toolchainText } from './toolchain.ts';

export interface ValidateRequest {
  project: string;
  id: string;
  /** What the caller means to validate; whatever the draft is at where left out. */
  revision?: string;
  actor: string;
  /** What asked for it, for the provenance; the validation itself where left out. */
  invocation?: string;
  correlation?: string;
}

export interface ValidationEvents {
  onCheck?: (event: CheckEvent) => void;
}

export interface Validated {
  /** As the validation left it: `passed`, `failed`, or `draft` when the checks came to no verdict. */
  draft: Draft;
  report: Report;
  /** Digest of the artifact; null unless the draft has passed. */
  artifact: string | null;
}

/**
 * Validate a draft: perform every check over the bytes that were registered, and make the artifact when all pass. One
 * validation of a draft at a time. What a release has been made of is not validated again: its report stands.
 *
 * A check that could not be done, or an aborted signal, leaves no verdict: the draft is a draft again. So does an error.
 * Where the store can be told of no end, the next one who puts or validates the draft frees it; where the process dies,
 * recoverValidations does.
 *
 * @throws GloveboxError `NOT_FOUND`, `DRAFT_BUSY`, `DRAFT_STALE`, `IMAGE_MISSING`, and what stores may lack. What is wrong
 *   with the package is in the report.
 */
export async function validateDraft(
  engine: Engine,
  request: ValidateRequest,
  events: ValidationEvents = {},
  signal?: AbortSignal,
): Promise<Validated> {
  const { project, id } = request;
  const record = await engine.drafts.get(project, id);
  if (record === undefined) throw absent(project, id);
  if (request.revision !== undefined && request.revision !== record.draft.revision) throw stale(project, id);
  // Before it begins: a host without images cannot validate, and nothing needs undoing.
  const [runtime, builder] = await Promise.all([engine.images.current('runtime'), engine.images.current('builder')]);
  const validation = new Validation(engine, request, record);
  if ((await validation.begin()) === 'released') return releasedBefore(await validation.record());
  try {
    const { draft } = record;
    const files = await loadDraftFiles(engine.blobs, record);
    const checklist = new Checklist(engine.monotonicMs, (event) => events.onCheck?.(event), signal);
    const images = { runtime: runtime.digest as Digest, builder: builder.digest as Digest };
    const checked = await runChecks(engine, { project, files, revision: draft.revision }, images, checklist, signal);
    const report = reportOf(draft, checklist, toolchainText([runtime, builder]));
    const verdict = verdictOf(checklist);
    if (verdict === 'none') {
      return { draft: await validation.abandon(), report, artifact: null };
    }
    const passed =
      verdict === 'passed' && checked !== undefined
        ? await keepArtifact(engine, {
            ...checked,
            ...validation.circumstances,
            project,
            report,
            image: images.runtime,
          })
        : null;
    return { draft: await validation.end(report, passed), report, artifact: passed?.artifact ?? null };
  } catch (error) {
    await validation.giveUp();
    throw error;
  }
}

/** One validation as the store and the audit chain know it. */
class Validation {
  readonly #engine: Engine;
  readonly #request: ValidateRequest;
  readonly #revision: string;
  readonly #id = newValidationId();
  readonly #startedAtMs: number;

  constructor(engine: Engine, request: ValidateRequest, { draft }: DraftRecord) {
    this.#engine = engine;
    this.#request = request;
    this.#revision = draft.revision;
    this.#startedAtMs = engine.now();
  }

  get circumstances(): { actor: string; invocation: string; correlation: string; startedAtMs: number } {
    const { actor, invocation = this.#id, correlation = this.#id } = this.#request;
    return { actor, invocation, correlation, startedAtMs: this.#startedAtMs };
  }

  async begin(): Promise<'begun' | 'released'> {
    const { project, id } = this.#request;
    let begun = await this.#tryToBegin();
    if (begun === 'busy' && (await freeDraft(this.#engine, { project, id }))) begun = await this.#tryToBegin();
    switch (begun) {
      case 'busy':
        throw new GloveboxError('DRAFT_BUSY', { message: `The draft ${project}/${id} is being validated.` });
      case 'stale':
        throw stale(project, id);
      case 'absent':
        throw absent(project, id);
      default:
        return begun;
    }
  }

  #tryToBegin(): ReturnType<Engine['drafts']['beginValidation']> {
    const { project, id } = this.#request;
    const owner = ownIdentity(this.#engine.signer.instance);
    return this.#engine.drafts.beginValidation(
      { project, id, revision: this.#revision, validation: this.#id, owner, atMs: this.#startedAtMs },
      this.#event('draft.validation-began', {}),
    );
  }

  /** @returns the draft as this left it. */
  async end(report: Report, result: PassedValidation | null): Promise<Draft> {
    const ended = await this.#engine.drafts.endValidation(
      { validation: this.#id, atMs: this.#engine.now(), report, result },
      this.#event('draft.validation-ended', { valid: result !== null, artifact: result?.artifact ?? null }),
    );
    if (ended.kind === 'stale') throw stale(this.#request.project, this.#request.id);
    return ended.draft;
  }

  /** @returns the draft as this left it. */
  async abandon(): Promise<Draft> {
    const event = this.#event('draft.validation-abandoned', {});
    const abandoned = await this.#engine.drafts.abandonValidation(this.#id, event);
    return abandoned.kind === 'stale' ? (await this.record()).draft : abandoned.draft;
  }

  /** Whatever comes of it: what failed first is told. */
  giveUp(): Promise<void> {
    return giveUp(this.#engine, this.#id, this.#event('draft.validation-abandoned', {}));
  }

  /** The draft as it is now, at the revision that this is about. */
  async record(): Promise<DraftRecord> {
    const { project, id } = this.#request;
    const record = await this.#engine.drafts.get(project, id);
    if (record === undefined) throw absent(project, id);
    if (record.draft.revision !== this.#revision) throw stale(project, id);
    return record;
  }

  #event(action: AuditEvent['action'], details: AuditEvent['details']): AuditEvent {
    const { project, id, actor } = this.#request;
    return {
      atMs: this.#engine.now(),
      actor,
      project,
      action,
      subject: `${project}/${id}`,
      details: { validation: this.#id, revision: this.#revision, ...details },
    };
  }
}

function releasedBefore({ draft, report, passed }: DraftRecord): Validated {
  if (report === null)
    throw new GloveboxError('INTERNAL', { message: `${draft.project}/${draft.id} is released without a report` });
  return { draft, report, artifact: passed?.artifact ?? null };
}

const absent = (project: string, id: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', { message: `There is no draft ${project}/${id}.` });

const stale = (project: string, id: string): GloveboxError =>
  new GloveboxError('DRAFT_STALE', { message: `The draft ${project}/${id} is at another revision by now.` });
