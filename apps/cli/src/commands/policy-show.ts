import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { policyYaml } from '../policy-text.ts';
import { projectOf } from '../project.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const project = projectOf(args);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const view = await client.call('policy.get', { params: { project } });
    const text = output.json === 'no' ? await policyYaml(project, view) : '';
    output.result(view, () => text);
    return 0;
  } finally {
    await close();
  }
}
