import { usage } from './args.ts';
import type { CommandContext } from './commands.ts';
import { loadConfig } from './config.ts';
import { openApi } from './local-api.ts';
import { oneLine, paint } from './output.ts';
import { projectOf } from './project.ts';
import { releaseOf } from './release-argument.ts';

/** Change the state of a release, as the commands for that do. */
export async function changeRelease(
  { args, output }: CommandContext,
  command: string,
  state: 'active' | 'deprecated' | 'revoked',
): Promise<number> {
  const params = releaseOf(args.positionals[0] as string, projectOf(args));
  if (!params.reference.includes('@'))
    throw usage(command, 'Name the version, as in id@1.2.3: what is newest may change before you press enter');
  const reason = args.options.reason as string | undefined;
  if (state !== 'active' && (reason === undefined || reason.trim() === ''))
    throw usage(command, 'Say why with --reason; whoever runs it is told');
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const body = { state, ...(reason === undefined ? {} : { reason }) };
    const answer = await client.call('releases.change', { params, body });
    output.result(answer, () => {
      const { release, changed } = answer;
      const why = release.reason === null ? '' : `: ${oneLine(release.reason)}`;
      return `${paint('bold', release.ref)}  ${release.state}${why}${changed ? '' : ' (as it was)'}`;
    });
    return 0;
  } finally {
    await close();
  }
}
