import type { Json, Manifest } from '@glovebox/contract';
import { checkHttpRules } from './http-rules.ts';
import type { ManifestProblem } from './manifest.ts';

const writing: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE']);

/** Rules between the fields of a manifest that is valid field by field. `raw` is what the author wrote, without defaults. */
export function checkManifestRules(manifest: Manifest, raw: Json): ManifestProblem[] {
  return [
    ...withoutEffect(manifest),
    ...slotHosts(manifest),
    ...sideEffects(manifest),
    ...checkHttpRules(manifest, raw),
  ];
}

/** What a node may declare and does not get yet: it would look for the fault in its own code. */
function withoutEffect({ capabilities }: Manifest): ManifestProblem[] {
  if (capabilities.credentials === undefined) return [];
  return [
    {
      rule: 'NOT_AVAILABLE_YET',
      path: ['capabilities', 'credentials'],
      message: 'capabilities.credentials: is checked, but has no effect yet: a request that asks for one is refused',
      hint: 'Leave it out, or keep it for a later version.',
      severity: 'warning',
      at: 'key',
    },
  ];
}

/** A slot's secret can only go where a rule lets a request go, so a host beyond them is a mistake or a hope. */
function slotHosts({ capabilities }: Manifest): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const rules = capabilities.http?.rules ?? [];
  for (const [slot, { hosts }] of Object.entries(capabilities.credentials ?? {})) {
    for (const [index, host] of hosts.entries()) {
      if (rules.some((rule) => covers(rule.host, host))) continue;
      problems.push({
        path: ['capabilities', 'credentials', slot, 'hosts', index],
        message: `capabilities.credentials.${slot}.hosts[${index}]: no http rule allows ${host}`,
        hint: `Add a rule with the host ${host} to capabilities.http.rules, or remove it here.`,
      });
    }
  }
  return problems;
}

/** `*.example.com` matches sub-domains only. */
function covers(ruleHost: string, host: string): boolean {
  return ruleHost.startsWith('*.') ? host.endsWith(ruleHost.slice(1)) : ruleHost === host;
}

/** What a crash in mid-attempt does next depends on `sideEffect`: none and read are simply run again. */
function sideEffects({ capabilities, sideEffect }: Manifest): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const rules = capabilities.http?.rules ?? [];
  if (sideEffect === 'none' && rules.length > 0) {
    problems.push({
      path: ['sideEffect'],
      message: 'sideEffect: is none, but capabilities.http lets the node reach others',
      hint: 'Say read, or write when a request may change something.',
      severity: 'warning',
    });
  }
  const method =
    sideEffect === 'read' ? rules.flatMap((rule) => rule.methods).find((name) => writing.has(name)) : undefined;
  if (method !== undefined) {
    problems.push({
      path: ['sideEffect'],
      message: `sideEffect: is read, but a rule allows ${method}`,
      hint: 'Say write, or drop the method: a crashed attempt of a reading node is run again.',
      severity: 'warning',
    });
  }
  return problems;
}
