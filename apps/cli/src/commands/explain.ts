import {
  type ErrorCode,
  errorCatalogue,
  errorCodes,
  exitMeanings,
  GloveboxError,
  kindMeanings,
} from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { paint } from '../output.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const code = await knownCode(args.positionals[0] as string);
  const { exit, kind, summary, hint } = errorCatalogue[code];
  output.result({ code, exit, kind, summary, hint }, () =>
    [
      `${paint('bold', code)}  ${summary}`,
      `  ${paint('cyan', 'hint')}  ${hint}`,
      `  ${paint('cyan', 'kind')}  ${kind}: ${kindMeanings[kind]}`,
      `  ${paint('cyan', 'exit')}  ${exit}: ${exitMeanings[exit]}`,
      '  Every code is in docs/errors.md.',
    ].join('\n'),
  );
  return 0;
}

/** @throws GloveboxError `NOT_FOUND` with the nearest code, where one is near. */
async function knownCode(asked: string): Promise<ErrorCode> {
  const name = asked.toUpperCase().replaceAll('-', '_');
  const found = errorCodes.find((code) => code === name);
  if (found !== undefined) return found;
  const { nearest } = await import('@glovebox/validate');
  const near = nearest(name, errorCodes);
  throw new GloveboxError('NOT_FOUND', {
    message: `${asked} is no code of Glovebox.`,
    hint:
      near === undefined
        ? 'A code of an author comes from the node itself; see its source. All others are in docs/errors.md.'
        : `Did you mean ${near}?`,
  });
}
