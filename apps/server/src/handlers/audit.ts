import type { GroupName, Handlers } from '../handler.ts';

export const auditHandlers: Handlers<GroupName<'audit'>> = {
  'audit.list': async ({ query }, { open }) => {
    const { listAudit } = await import('@glovebox/engine');
    const { after, limit, project, action, subject } = query;
    const entries = await listAudit(await open('audit'), {
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
      ...(project === undefined ? {} : { project }),
      ...(action === undefined ? {} : { action }),
      ...(subject === undefined ? {} : { subject }),
    });
    return { entries };
  },

  'audit.export': async (_, { open }) => {
    const { exportAudit } = await import('@glovebox/engine');
    return lines(exportAudit(await open('audit', 'signer', 'now')));
  },

  'audit.verify': async ({ body }, { open }) => {
    const { verifyAuditChain } = await import('@glovebox/engine');
    const engine = await open('audit', 'keys');
    const keys = [...(body.keys ?? engine.keys)];
    const { entries, head, checkpoints, signedUpTo } = await verifyAuditChain(engine, { keys });
    // Numbers have no gaps: the last entry has the number of all.
    return { entries, checkpoints, head: head === null ? null : { seq: entries, hash: head }, signedUpTo };
  },

  'audit.checkpoints': async (_, { open }) => {
    const { audit } = await open('audit');
    return { checkpoints: await audit.checkpoints() };
  },
};

async function* lines(source: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of source) yield Buffer.from(`${line}\n`);
}
