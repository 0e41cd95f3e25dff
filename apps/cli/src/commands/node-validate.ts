import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { countsText, findingsText } from '../report-text.ts';
import { hasPassed, statusOf, type Validation, validateDirectory } from '../validation.ts';

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir);
  const request = { project: projectOf(args), dir: args.positionals[0] as string, config };
  const signal = windUp();
  const { client, close } = await openApi(config);
  try {
    const validation = await validateDirectory(client, request, output, signal);
    output.result(validation, () => validationText(validation));
    return statusOf(validation);
  } finally {
    await close();
  }
}

export function validationText(validation: Validation): string {
  const { draft, artifact, checks, findings } = validation;
  const passed = hasPassed(validation);
  const name = draft === null ? '' : `${draft.project}/${draft.id}  `;
  return [
    ...(findings.length === 0 ? [] : [findingsText(findings), '']),
    `${passed ? paint('green', 'passed') : paint('red', 'failed')}  ${name}${countsText(checks)}`,
    ...(draft === null ? [] : [`  revision  ${draft.revision}`]),
    ...(artifact === null ? [] : [`  artifact  ${artifact}`]),
  ].join('\n');
}
