import type { EgressPolicyChangesView, EgressPolicyView, EgressVerdictView } from '@glovebox/contract/routes';
import { indented, jsonText, oneLine, paint } from './output.ts';

/** A policy as YAML under comments of ours: what `policy set` takes again. */
export async function policyYaml(project: string, view: EgressPolicyView): Promise<string> {
  const { stringify } = await import('yaml');
  const { revision, digest, changedAtMs, changedBy, policy } = view;
  const since =
    changedAtMs === null
      ? 'nobody has set one'
      : `set ${new Date(changedAtMs).toISOString()} by ${oneLine(changedBy ?? '')}`;
  return `# Egress policy of ${project}, revision ${revision}: ${since}\n# ${digest}\n${stringify(policy)}`;
}

/** A line for each change, those that let more through first. */
export function changeLines(
  { widens, narrows }: EgressPolicyChangesView,
  stream: NodeJS.WriteStream = process.stdout,
): string[] {
  return [
    ...widens.map((text) => `  ${paint('yellow', 'wider   ', stream)} ${oneLine(text)}`),
    ...narrows.map((text) => `  ${paint('green', 'narrower', stream)} ${oneLine(text)}`),
  ];
}

export function verdictText(verdict: EgressVerdictView, asked: { method: string; url: string }): string {
  const { allowed, request, declaredBy, rule, reason, hint, patch, approver, allowances, addresses } = verdict;
  const usual = request !== null && request.port === (request.scheme === 'https' ? 443 : 80);
  const shown =
    request === null
      ? `${asked.method} ${asked.url}`
      : `${request.method} ${request.scheme}://${request.host}${usual ? '' : `:${request.port}`}${request.path}`;
  const lines = [
    `${allowed ? paint('green', 'allowed') : paint('red', 'denied')}  ${oneLine(shown)}${reason === null ? '' : `  ${reason}`}`,
    ...(declaredBy === 'nobody' ? ['  declared    by no manifest here: this is what the policy alone says'] : []),
    ...(rule === null ? [] : [`  rule        ${oneLine(rule)}`]),
    ...(allowances.length === 0 ? [] : [`  allowances  ${allowances.map(oneLine).join(', ')}`]),
    ...(addresses ?? []).map(
      ({ address, allowed: may, why }) =>
        `  address     ${address}  ${may ? 'allowed' : `refused${why === null ? '' : `: ${oneLine(why)}`}`}`,
    ),
    ...(hint === null ? [] : [`  hint        ${indented(hint, '              ')}`]),
    ...(approver === null ? [] : [`  who agrees  ${approvers[approver]}`]),
    ...(patch === null
      ? []
      : ['  patch of capabilities.http:', indented(jsonText(patch, 2), '').replace(/^/gm, '    ')]),
    `  policy      revision ${verdict.revision}`,
  ];
  return lines.join('\n');
}

const approvers = {
  author: 'the author of the node',
  approver: 'an approver of wider permissions',
  admin: 'an admin of the project',
  nobody: 'nobody can',
} as const satisfies Record<NonNullable<EgressVerdictView['approver']>, string>;
