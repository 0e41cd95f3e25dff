import type { AuditEvent } from '@glovebox/contract';
import type { Engine } from '../engine.ts';

type Drafts = Pick<Engine, 'drafts'>;

/**
 * Validations of this process that are over, and hold their drafts only because the store could not be written then, with
 * what there was to tell. Of the process, not of an engine: others judge by the process whether a validation goes on, and
 * it lives.
 */
const stuck = new Map<string, AuditEvent>();

/** End a validation without a verdict, now or, where the store cannot be written, by freeDraft. Never throws. */
export async function giveUp({ drafts }: Drafts, validation: string, event: AuditEvent): Promise<void> {
  try {
    await drafts.abandonValidation(validation, event);
  } catch {
    // What failed before this is told; a full disk fails both.
    stuck.set(validation, event);
  }
}

/**
 * Free a draft that a validation of this process holds although it is over.
 *
 * @returns whether it was one. @throws what the store does, and it stays held.
 */
export async function freeDraft(
  { drafts, now }: Drafts & Pick<Engine, 'now'>,
  { project, id }: { project: string; id: string },
): Promise<boolean> {
  for (const [validation, event] of stuck) {
    if (event.subject !== `${project}/${id}`) continue;
    const { kind } = await drafts.abandonValidation(validation, { ...event, atMs: now() });
    // Else it is one of the same name in another data directory.
    if (kind === 'abandoned') return stuck.delete(validation);
  }
  return false;
}
