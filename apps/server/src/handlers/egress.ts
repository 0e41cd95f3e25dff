import { GloveboxError } from '@glovebox/contract';
import type { EgressPolicyView, RouteBody } from '@glovebox/contract/routes';
import type { EgressQuestion, ShownEgressPolicy } from '@glovebox/engine';
import type { GroupName, Handlers } from '../handler.ts';

export const egressHandlers: Handlers<GroupName<'egress' | 'policy'>> = {
  'policy.get': async ({ params }, { open }) => {
    const { showEgressPolicy } = await import('@glovebox/engine');
    return viewOf(await showEgressPolicy(await open('egressPolicies'), params.project));
  },

  'policy.set': async ({ params, body, actor, presence }, { open }) => {
    const { setEgressPolicy } = await import('@glovebox/engine');
    const { changed, changes, ...shown } = await setEgressPolicy(
      await open('egressPolicies', 'audit', 'signer', 'keys', 'now'),
      {
        ...params,
        actor,
        policy: body.policy,
        expectedRevision: body.expectedRevision,
        // A program that says that somebody has confirmed it is not somebody.
        widening: presence === 'attended' ? body.widening : 'refused',
      },
    );
    return { ...viewOf(shown), changed, changes: { widens: [...changes.widens], narrows: [...changes.narrows] } };
  },

  'policy.check': async ({ params, body, signal }, { open }) => {
    const { checkEgress } = await import('@glovebox/engine');
    const { method, url, websocket, addresses } = body;
    const engine = await open('egressPolicies', 'releases', 'artifacts', 'audit', 'keys', 'resolver');
    const question = { ...params, method, url, websocket, addresses, declaredBy: declaredBy(body) };
    const verdict = await checkEgress(engine, question, signal);
    return {
      ...verdict,
      declaredBy: question.declaredBy.kind === 'anybody' ? 'nobody' : question.declaredBy.kind,
      allowances: [...verdict.allowances],
      addresses: verdict.addresses === null ? null : verdict.addresses.map((address) => ({ ...address })),
    };
  },

  'egress.list': async ({ params, query }, { open }) => {
    const { listEgress } = await import('@glovebox/engine');
    const { limit, before, run, host, outcome } = query;
    const records = await listEgress(await open('egressLog'), {
      ...params,
      ...(limit === undefined ? {} : { limit }),
      ...(before === undefined ? {} : { before }),
      ...(run === undefined ? {} : { run }),
      ...(host === undefined ? {} : { host }),
      ...(outcome === undefined ? {} : { outcome }),
    });
    return { records };
  },
};

const viewOf = ({ policy, revision, digest, changedAt, changedBy }: ShownEgressPolicy): EgressPolicyView => ({
  policy,
  revision,
  digest,
  changedAtMs: changedAt,
  changedBy,
});

function declaredBy({ node, rules }: RouteBody<'policy.check'>): EgressQuestion['declaredBy'] {
  if (node !== undefined && rules !== undefined)
    throw new GloveboxError('REQUEST_INVALID', { message: 'Name a node or rules.', place: { path: '/rules' } });
  if (node !== undefined) return { kind: 'release', reference: node };
  return rules === undefined ? { kind: 'anybody' } : { kind: 'rules', rules };
}
