import { type AppliedFix, applyFixes } from '../apply-fixes.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { type Output, oneLine, paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { countsText, findingsText } from '../report-text.ts';
import { hasPassed, statusOf, type Validation, validateDirectory } from '../validation.ts';

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir);
  const request = { project: projectOf(args), dir: args.positionals[0] as string, config };
  const signal = windUp();
  const { client, close } = await openApi(config);
  try {
    let { validation, files } = await validateDirectory(client, request, output, signal);
    let fixes: AppliedFix[] | undefined;
    if (args.options.fix === true && !signal.aborted) {
      fixes = files === undefined ? [] : await applyFixes(request.dir, files, validation.findings);
      for (const fix of fixes) tellFix(fix, output);
      if (fixes.length > 0) ({ validation } = await validateDirectory(client, request, output, signal));
    }
    output.result({ ...validation, ...(fixes === undefined ? {} : { fixes }) }, () => validationText(validation));
    return statusOf(validation);
  } finally {
    await close();
  }
}

function tellFix(fix: AppliedFix, output: Output): void {
  const { rule, title, files } = fix;
  output.progress(`${paint('green', 'fixed', process.stderr)} ${oneLine(`${files.join(', ')}: ${title}`)} (${rule})`);
  output.event({ event: 'fixed', ...fix });
}

export function validationText(validation: Validation): string {
  const { draft, state, artifact, checks, findings } = validation;
  const verdict = hasPassed(validation)
    ? paint('green', 'passed')
    : state === 'failed'
      ? paint('red', 'failed')
      : paint('yellow', 'no verdict');
  const name = draft === null ? '' : `${draft.project}/${draft.id}  `;
  const fixable = findings.filter(({ fix }) => fix !== undefined).length;
  return [
    ...(findings.length === 0 ? [] : [findingsText(findings), '']),
    `${verdict}  ${name}${countsText(checks)}${state === 'released' ? ', when it was released' : ''}`,
    ...(draft === null ? [] : [`  revision  ${draft.revision}`]),
    ...(artifact === null ? [] : [`  artifact  ${artifact}`]),
    ...(fixable === 0 ? [] : [`  fixable   ${fixable}: glovebox node validate --fix mends what has a fix`]),
  ].join('\n');
}
