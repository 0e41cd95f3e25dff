import type { Client } from '@glovebox/client';
import { type EgressPolicy, GloveboxError } from '@glovebox/contract';
import type { EgressPolicyChangesView, RouteResult } from '@glovebox/contract/routes';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { type Output, paint } from '../output.ts';
import { readPolicyFile } from '../policy-file.ts';
import { changeLines } from '../policy-text.ts';
import { projectOf } from '../project.ts';
import { confirm, isAttended } from '../terminal.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const project = projectOf(args);
  const expected = revisionOf(args.options.revision as string | undefined);
  const policy = await readPolicyFile(args.positionals[0] as string);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const params = { project };
    const expectedRevision = expected ?? (await client.call('policy.get', { params })).revision;
    const answer = await setConfirmed(client, { project, policy, expectedRevision }, output);
    output.result(answer, () => {
      const { revision, changed, changes } = answer;
      const title = `${paint('green', changed ? 'set' : 'unchanged')}  egress policy of ${project}, revision ${revision}`;
      const lines = changeLines(changes);
      return [title, ...(changed && lines.length === 0 ? ['  nothing else may leave, and nothing less'] : lines)].join(
        '\n',
      );
    });
    return 0;
  } finally {
    await close();
  }
}

interface PolicyChange {
  project: string;
  policy: EgressPolicy;
  expectedRevision: number;
}

/** First without leave to widen: where that is refused, the person at the terminal is shown what would be let through, and asked. */
async function setConfirmed(
  client: Client,
  { project, policy, expectedRevision }: PolicyChange,
  output: Output,
): Promise<RouteResult<'policy.set'>> {
  const set = (widening: 'refused' | 'confirmed') =>
    client.call('policy.set', { params: { project }, body: { policy, expectedRevision, widening } });
  try {
    return await set('refused');
  } catch (error) {
    if (!GloveboxError.is(error, 'EGRESS_POLICY_WIDER')) throw error;
    const changes = error.details as unknown as EgressPolicyChangesView;
    if (output.json === 'no') for (const line of changeLines(changes, process.stderr)) output.complain(line);
    if (!isAttended() || !(await confirm(`The nodes of ${project} may then do what they could not.`))) throw error;
  }
  return set('confirmed');
}

function revisionOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw usage('policy set', `--revision ${text} is not the number of a revision`);
  return Number(text);
}
