import { existsSync } from 'node:fs';
import { GloveboxError, idPatterns, type Json } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { hasPassed, refusalOf, validateDirectory } from '../validation.ts';
import { validationText } from './node-validate.ts';

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const target = args.positionals[0] as string;
  const project = projectOf(args);
  const config = await loadConfig(args.global.dataDir);
  const signal = windUp();
  const { client, close } = await openApi(config);
  try {
    let draft: { id: string; revision?: string } = { id: target };
    if (!isDraftId(target)) {
      const { validation } = await validateDirectory(client, { project, dir: target, config }, output, signal);
      if (!hasPassed(validation) || validation.draft === null) {
        if (output.json === 'no') output.text(validationText(validation));
        throw new GloveboxError(refusalOf(validation), {
          message: `${target} did not pass; nothing was published.`,
          ...(output.json === 'no' ? {} : { details: { findings: validation.findings as unknown as Json } }),
        });
      }
      draft = { id: validation.draft.id, revision: validation.draft.revision };
    }
    if (signal.aborted) throw new GloveboxError('INTERRUPTED', { message: 'Interrupted; nothing was published.' });
    const published = await client.call('releases.publish', { params: { project }, body: draft });
    output.result(published, () =>
      [
        `${paint('green', published.created ? 'published' : 'unchanged')}  ${published.ref}`,
        `  ${published.digest}`,
      ].join('\n'),
    );
    return 0;
  } finally {
    await close();
  }
}

/** A directory is named by a path, or is there; everything else that can be one is the id of a draft. */
const isDraftId = (target: string): boolean => idPatterns.node.test(target) && !existsSync(target);
