import { errorCatalogue } from '@glovebox/contract';
import type { ReleaseDetailsView } from '@glovebox/contract/routes';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { errorText, indented, oneLine, paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';
import { countsText } from '../report-text.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const params = releaseOf(args.positionals[0] as string, projectOf(args));
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const details = await client.call('releases.get', { params });
    output.result(details, () => detailsText(details));
    // It is shown whatever is wrong with it, and the status says that no run of it begins.
    return details.problem === null ? 0 : errorCatalogue[details.problem.code].exit;
  } finally {
    await close();
  }
}

function detailsText({ release, content, problem }: ReleaseDetailsView): string {
  const { ref, state, reason, digest, image, revision, publishedBy, publishedAt } = release;
  const style = state === 'active' ? 'green' : state === 'deprecated' ? 'yellow' : 'red';
  const lines = [
    `${paint('bold', ref)}  ${paint(style, state)}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    `  artifact     ${digest}`,
    `  revision     ${revision}`,
    `  image        ${image}`,
    `  published    ${publishedAt} by ${oneLine(publishedBy)}`,
  ];
  if (problem !== null) lines.push(errorText(problem));
  if (content === null) return lines.join('\n');
  const { report } = content;
  return [
    ...lines,
    `  title        ${oneLine(content.title)}`,
    ...(content.description === '' ? [] : [`  description  ${indented(content.description, '               ')}`]),
    `  license      ${oneLine(content.license)}`,
    ...(report === null
      ? []
      : [`  checks       ${countsText(report.checks)}; ${report.warnings} warnings, ${report.notices} notices`]),
    `  toolchain    ${content.toolchain.join(' ')}`,
    `  attested     ${[...new Set(content.attestations.map(({ kind }) => kind))].join(', ')}`,
    `  permissions  ${content.permissions.digest}`,
    ...content.permissions.words.map((words) => `    ${oneLine(words)}`),
    `  packages     ${content.dependencies.length === 0 ? 'none' : content.dependencies.length}`,
    ...content.dependencies.map(({ name, version }) => `    ${oneLine(name)}@${oneLine(version)}`),
  ].join('\n');
}
