import { GloveboxError } from '@glovebox/contract';
import type { CheckEvent } from '@glovebox/engine';
import type { GroupName, Handlers } from '../handler.ts';
import { entriesOf } from '../snapshot.ts';
import { tellImage } from '../tell-image.ts';

export const draftHandlers: Handlers<GroupName<'drafts'>> = {
  'drafts.put': async ({ params, body, actor }, { open }) => {
    const { putDraft } = await import('@glovebox/engine');
    const { project, id } = params;
    return putDraft(await open('drafts', 'blobs', 'packages', 'now'), { project, id, actor, files: entriesOf(body) });
  },

  'drafts.list': async ({ params, query }, { open }) => {
    const { drafts } = await open('drafts');
    const { limit = 100, after } = query;
    return { drafts: await drafts.list({ ...params, limit, ...(after === undefined ? {} : { after }) }) };
  },

  'drafts.get': async ({ params }, { open }) => {
    const { drafts } = await open('drafts');
    const found = await drafts.get(params.project, params.id);
    if (found === undefined)
      throw new GloveboxError('NOT_FOUND', { message: `There is no draft ${params.project}/${params.id}.` });
    return { draft: found.draft, report: found.report };
  },

  'drafts.validate': async (call, { open }) => {
    const { openEngine, validateDraft, withImages } = await import('@glovebox/engine');
    const engine = await openEngine(open);
    const { project, id } = call.params;
    const { revision } = call.body;
    const { signal } = call;
    const onImage = (line?: string): void => tellImage(call, line);
    const onCheck = (event: CheckEvent): void =>
      call.tell(
        event.kind === 'started'
          ? { event: 'check-began', id: event.check }
          : { event: 'check-ended', result: event.result, findings: event.findings },
      );
    const request = { project, id, actor: call.actor, ...(revision === undefined ? {} : { revision }) };
    const { draft, report, artifact } = await withImages(engine.images, onImage, signal, () =>
      validateDraft(engine, request, { onCheck }, signal),
    );
    const { checks, findings } = report;
    return { draft: { project, id, revision: report.revision }, state: draft.state, artifact, checks, findings };
  },
};
