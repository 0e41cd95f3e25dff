import { type ErrorCode, type ErrorEntry, errorCatalogue, errorCodes, GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { paint } from '../output.ts';

const kinds: Record<ErrorEntry['kind'], string> = {
  user: 'Yours to mend: change the input, the package or the command.',
  host: 'Of this machine: mend it, then run the same command again.',
  retry: 'May go away by itself: try again.',
  final: 'Trying again does not help.',
  defect: 'A defect of Glovebox: report it.',
};

const exits: Record<ErrorEntry['exit'], string> = {
  1: 'the thing itself failed',
  2: 'bad input; nothing was started',
  3: 'this host cannot',
  4: 'refused',
  70: 'a defect of Glovebox',
  130: 'interrupted',
};

export async function run({ args, output }: CommandContext): Promise<number> {
  const code = await knownCode(args.positionals[0] as string);
  const { exit, kind, summary, hint } = errorCatalogue[code];
  output.result({ code, exit, kind, summary, hint }, () =>
    [
      `${paint('bold', code)}  ${summary}`,
      `  ${paint('cyan', 'hint')}  ${hint}`,
      `  ${paint('cyan', 'kind')}  ${kind}: ${kinds[kind]}`,
      `  ${paint('cyan', 'exit')}  ${exit}: ${exits[exit]}`,
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
