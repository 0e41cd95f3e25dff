import type { Client } from '@glovebox/client';
import {
  type CheckResult,
  type DraftState,
  type ErrorCode,
  errorCatalogue,
  errorCodes,
  GloveboxError,
  type ReportFinding,
} from '@glovebox/contract';
import { Checklist } from './checklist.ts';
import type { Config } from './config.ts';
import { findingText, type Output } from './output.ts';
import { readUpload, refusedUpload, uploadOf } from './package-upload.ts';

/** As `node validate --json` prints it. `draft` is null where nothing could be registered. */
export interface Validation {
  draft: { project: string; id: string; revision: string } | null;
  state: DraftState;
  artifact: string | null;
  checks: CheckResult[];
  findings: ReportFinding[];
}

export interface DirectoryValidation {
  validation: Validation;
  /** The bytes that were validated, by path; undefined where nothing could be registered. */
  files: ReadonlyMap<string, Uint8Array> | undefined;
}

/**
 * Upload a package directory as a draft and run every check over it, with a checklist on the way.
 *
 * @throws GloveboxError `NOT_FOUND` and `PACKAGE_INVALID` where there is no directory to read, and as the routes do;
 *   findings are in what is returned.
 */
export async function validateDirectory(
  client: Client,
  request: { project: string; dir: string; config: Config },
  output: Output,
  windUp: AbortSignal,
): Promise<DirectoryValidation> {
  const { project, dir, config } = request;
  const upload = await readUpload(dir, config);
  const checklist = new Checklist(output);
  try {
    if (!upload.ok) {
      const refused = refusedUpload(upload.findings);
      for (const result of refused.checks) tell(output, checklist, result);
      return { validation: { draft: null, state: 'failed', artifact: null, ...refused }, files: undefined };
    }
    const { id, files } = upload;
    for (const warning of upload.warnings) {
      output.progress(findingText(warning));
      output.event({ event: 'warning', ...warning });
    }
    const { draft } = await client.call('drafts.put', { params: { project, id }, body: uploadOf(files) });
    const events = client.stream('drafts.validate', {
      params: { project, id },
      body: { revision: draft.revision },
      windUp,
    });
    for await (const event of events) {
      if (event.event === 'step') output.progress(event.detail ?? 'making the images');
      else if (event.event === 'check-began') {
        checklist.began(event.id);
        output.event(event);
      } else if (event.event === 'check-ended') tell(output, checklist, event.result);
      else if (event.event === 'result') return { validation: event.result, files };
    }
    throw new GloveboxError('RESPONSE_INVALID', { message: 'The validation told no result.' });
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

/** Why a validation did not pass, as a code: what its checks found, who stopped it, or what this host or the registry lacks. */
export function refusalOf({ checks, findings }: Validation): ErrorCode {
  const inState = (state: CheckResult['state']): string[] =>
    checks.filter((check) => check.state === state).map(({ id }) => id);
  if (inState('failed').length > 0) return 'VALIDATION_FAILED';
  if (inState('cancelled').length > 0) return 'INTERRUPTED';
  const unavailable = inState('unavailable');
  const lacking = findings.find(({ check, severity }) => severity === 'error' && unavailable.includes(check));
  return errorCodes.find((code) => code === lacking?.rule) ?? 'VALIDATION_FAILED';
}

/** The exit status. */
export const statusOf = (validation: Validation): number =>
  hasPassed(validation) ? 0 : errorCatalogue[refusalOf(validation)].exit;
