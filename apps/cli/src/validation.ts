import type { Client } from '@glovebox/client';
import type { CheckResult, DraftState, ReportFinding } from '@glovebox/contract';
import { Checklist } from './checklist.ts';
import type { Config } from './config.ts';
import type { Output } from './output.ts';
import { readUpload, refusedUpload } from './package-upload.ts';

/** As `node validate --json` prints it. `draft` is null where nothing could be registered. */
export interface Validation {
  draft: { project: string; id: string; revision: string } | null;
  state: DraftState;
  artifact: string | null;
  checks: CheckResult[];
  findings: ReportFinding[];
}

/**
 * Upload a package directory as a draft and run every check over it, with a checklist on the way.
 *
 * @throws GloveboxError as the routes do; findings are in what is returned.
 */
export async function validateDirectory(
  client: Client,
  request: { project: string; dir: string; config: Config },
  output: Output,
  windUp: AbortSignal,
): Promise<Validation> {
  const { project, dir, config } = request;
  const upload = await readUpload(dir, config);
  const checklist = new Checklist(output);
  try {
    if (!upload.ok) {
      const refused = refusedUpload(upload.findings);
      for (const result of refused.checks) tell(output, checklist, result);
      return { draft: null, state: 'failed', artifact: null, ...refused };
    }
    const { id, snapshot } = upload;
    const { draft } = await client.call('drafts.put', { params: { project, id }, body: snapshot });
    const events = client.stream('drafts.validate', {
      params: { project, id },
      body: { revision: draft.revision },
      windUp,
    });
    let validation: Validation | undefined;
    for await (const event of events) {
      if (event.event === 'check-began') {
        checklist.began(event.id);
        output.event(event);
      } else if (event.event === 'check-ended') tell(output, checklist, event.result);
      else if (event.event === 'result') validation = event.result;
    }
    return validation as Validation;
  } finally {
    checklist.close();
  }
}

function tell(output: Output, checklist: Checklist, result: CheckResult): void {
  checklist.ended(result);
  output.event({ event: 'check-ended', result });
}

/** Whether no check failed. */
export const hasPassed = ({ state }: Validation): boolean => state === 'passed' || state === 'released';

/** Whether something stood in the way that says nothing of the package: 3 this host, 130 the user. */
export function statusOf(validation: Validation): number {
  if (hasPassed(validation)) return 0;
  const states = new Set(validation.checks.map(({ state }) => state));
  if (states.has('failed')) return 1;
  return states.has('cancelled') ? 130 : 1;
}
