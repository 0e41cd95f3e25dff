import {
  type EgressApprover,
  type EgressReason,
  type ErrorCode,
  egressAnswerHeader,
  egressReasons,
  errorCatalogue,
  GloveboxError,
  type Json,
} from '@glovebox/contract';
import type { CellRequest, EgressProblem } from './api.ts';
import { denialProblem } from './denial.ts';
import { reasonOf } from './dial-failure.ts';

/** Why a request was not, or not wholly, answered by its origin. */
export interface Refusal {
  readonly kind: 'denied' | 'over-budget' | 'failed';
  readonly code: ErrorCode;
  readonly reason: EgressReason;
  /** The rule that says so; undefined where it is none of a rule's doing. */
  readonly rule?: string | null;
  readonly patch?: Json;
  readonly approver?: EgressApprover;
  readonly message: string;
  readonly hint?: string;
  readonly details?: Json;
}

const maxMessageLength = 2000;
/** Of the details as JSON: docs/channel.md promises a body of at most 64 KiB. */
const maxDetailsLength = 32 * 1024;

/**
 * A refusal as an answer to the cell. What would be refused again is a 403, for no library tries that again by itself, as many
 * do after 408, 413, 429 and 5xx; a gateway's 502 and 504 are left to what another try could mend.
 *
 * @throws as `write` does when the cell gives the request up.
 */
export async function answerRefusal(request: CellRequest, refusal: Refusal): Promise<void> {
  const body = Buffer.from(JSON.stringify(problemOf(refusal)));
  request.respond({
    status: statusOf(refusal.code),
    headers: {
      'content-type': 'application/problem+json',
      'content-length': String(body.byteLength),
      [egressAnswerHeader]: refusal.kind,
    },
  });
  await request.write(body);
  request.end();
}

function statusOf(code: ErrorCode): number {
  if (errorCatalogue[code].kind !== 'retry') return 403;
  return code === 'EGRESS_TIMED_OUT' ? 504 : 502;
}

function problemOf(refusal: Refusal): EgressProblem & Record<string, Json> {
  const { code, reason, rule = null, patch = null, approver = 'nobody', message, details } = refusal;
  const { summary, hint } = errorCatalogue[code];
  return {
    type: `urn:glovebox:error:${code}`,
    title: summary,
    status: statusOf(code),
    detail: message.slice(0, maxMessageLength),
    code,
    reason,
    rule,
    patch,
    approver,
    hint: refusal.hint ?? hint,
    ...(details === undefined || JSON.stringify(details).length > maxDetailsLength ? {} : { details }),
  };
}

/**
 * What a dialer's error, or one of this session's own, comes to. An error that names no reason is a defect, of which the cell
 * learns nothing: its message may hold what is not for it.
 */
export function refusalOf(error: unknown): Refusal {
  const reason = egressReasons.find((known) => known === reasonOf(error));
  if (!GloveboxError.is(error) || reason === undefined) {
    return {
      kind: 'failed',
      code: 'EGRESS_FAILED',
      reason: 'PROTOCOL_ERROR',
      message: 'The request failed on the way.',
    };
  }
  const { code, message, hint, details } = error;
  const kind = kinds[code] ?? 'failed';
  if (kind === 'denied') return { kind, code, ...ruleOf(details), ...deniedOnTheWay(reason, message) };
  return {
    kind,
    code,
    reason,
    approver: kind === 'over-budget' ? 'approver' : 'nobody',
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(kind === 'failed' && details !== undefined ? { details } : {}),
  };
}

/** What is refused for its address is told without it: names of inside would map the inside to whoever may ask for them. */
function deniedOnTheWay(
  reason: EgressReason,
  message: string,
): Pick<Refusal, 'reason' | 'approver' | 'message' | 'hint'> {
  const approver = approvers[reason] ?? 'nobody';
  const { hint } = denialProblem({ reason, rule: null, patch: null, approver });
  return { reason, approver, hint, message: addressReasons.has(reason) ? hint : message };
}

const addressReasons: ReadonlySet<EgressReason> = new Set([
  'ADDRESS_NOT_PUBLIC',
  'ADDRESS_NEVER_ALLOWED',
  'DENIED_BY_POLICY',
]);
const approvers: { readonly [reason in EgressReason]?: EgressApprover } = {
  ADDRESS_NOT_PUBLIC: 'admin',
  DENIED_BY_POLICY: 'admin',
  HEADER_REFUSED: 'author',
};

const kinds: Partial<Record<ErrorCode, Refusal['kind']>> = { EGRESS_DENIED: 'denied', EGRESS_BUDGET: 'over-budget' };

function ruleOf(details: Json | undefined): { rule?: string } {
  return isObject(details) && typeof details.rule === 'string' ? { rule: details.rule } : {};
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
