import { GloveboxError, parseReference } from '@glovebox/contract';
import type { ReleaseDetailsView } from '@glovebox/contract/routes';
import type { GroupName, Handlers } from '../handler.ts';

export const releaseHandlers: Handlers<GroupName<'nodes' | 'releases' | 'artifacts'>> = {
  'nodes.list': async ({ params, query }, { open }) => {
    const { listNodes } = await import('@glovebox/engine');
    const { limit, after } = query;
    const nodes = await listNodes(await open('drafts', 'releases'), {
      ...params,
      ...(limit === undefined ? {} : { limit }),
      ...(after === undefined ? {} : { after }),
    });
    return { nodes };
  },

  'releases.publish': async ({ params, body, actor }, { open }) => {
    const { openEngine, publishRelease } = await import('@glovebox/engine');
    const { id, revision } = body;
    const { release, created } = await publishRelease(await openEngine(open), {
      ...params,
      id,
      actor,
      ...(revision === undefined ? {} : { revision }),
    });
    return { ref: release.ref, digest: release.digest, created };
  },

  'releases.list': async ({ params, query }, { open }) => {
    const { listReleases } = await import('@glovebox/engine');
    const { limit, id, after } = query;
    const releases = await listReleases(await open('releases'), {
      ...params,
      ...(limit === undefined ? {} : { limit }),
      ...(id === undefined ? {} : { id }),
      ...(after === undefined ? {} : { after: lastRead(after) }),
    });
    return { releases };
  },

  'releases.get': async ({ params }, { open }) => {
    const { showRelease } = await import('@glovebox/engine');
    return (await showRelease(await open('releases', 'artifacts', 'audit', 'keys'), params)) as ReleaseDetailsView;
  },

  'releases.change': async ({ params, body, actor }, { open }) => {
    const { deprecateRelease, revokeRelease, undeprecateRelease } = await import('@glovebox/engine');
    const engine = await open('releases', 'audit', 'signer', 'keys', 'now');
    const change = { ...params, actor };
    const { state, reason = '' } = body;
    if (state === 'active') return undeprecateRelease(engine, change);
    return state === 'deprecated'
      ? deprecateRelease(engine, { ...change, reason })
      : revokeRelease(engine, { ...change, reason });
  },

  'releases.revalidate': async (call, { open }) => {
    const { openEngine, revalidateRelease } = await import('@glovebox/engine');
    return revalidateRelease(
      await openEngine(open),
      { ...call.params, actor: call.actor },
      { onStep: (step, detail) => call.tell({ event: 'step', step, ...(detail === undefined ? {} : { detail }) }) },
      call.signal,
    );
  },

  'artifacts.attestations': async ({ params }, { open }) => {
    const { resolveRelease } = await import('@glovebox/engine');
    const { releases, artifacts } = await open('releases', 'artifacts');
    const { digest } = await resolveRelease(releases, params.project, params.reference);
    return { envelopeTexts: await artifacts.attestations(digest) };
  },

  'artifacts.export': async ({ params }, { open }) => {
    const { resolveRelease } = await import('@glovebox/engine');
    const { releases, artifacts } = await open('releases', 'artifacts');
    const { digest } = await resolveRelease(releases, params.project, params.reference);
    return artifacts.exportLayout(digest);
  },
};

/** @throws GloveboxError `REQUEST_INVALID`. */
function lastRead(after: string): { id: string; version: string } {
  const reference = parseReference(after);
  if (reference?.select.kind === 'version') return { id: reference.id, version: reference.select.version };
  throw new GloveboxError('REQUEST_INVALID', { message: 'After is not id@version.', place: { path: '/after' } });
}
