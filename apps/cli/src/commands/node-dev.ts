import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorData, formatDuration, GloveboxError, toErrorData } from '@glovebox/contract';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { type DevPackage, devRound, type RoundEvents } from '../dev-round.ts';
import { fixtureText } from '../fixture.ts';
import { exitInterrupted } from '../interrupts.ts';
import { openApi } from '../local-api.ts';
import { errorText, type Output, paint } from '../output.ts';
import { requireDirectory } from '../package-upload.ts';
import { projectOf } from '../project.ts';
import { errorLines, stateText } from '../run-text.ts';
import { changesOf } from '../watch-package.ts';
import { validationText } from './node-validate.ts';

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  if (output.json === 'document') throw usage('node dev', 'it has no end, so no one document: use --json=lines');
  const dir = args.positionals[0] as string;
  await requireDirectory(dir);
  const config = await loadConfig(args.global.dataDir);
  const fixture = (args.options.fixture as string | undefined) ?? (await firstFixture(dir));
  const pkg: DevPackage = { project: projectOf(args), dir, config, fixture };
  const interrupt = windUp();
  const { client, close } = await openApi(config);
  let round = new AbortController();
  const begin = (trigger: 'start' | 'change'): Promise<void> => {
    round = new AbortController();
    output.event({ event: 'round', trigger });
    const signal = AbortSignal.any([interrupt, round.signal]);
    return devRound(client, pkg, output, eventsOf(output, fixture, performance.now()), signal);
  };
  let going = begin('start');
  try {
    for await (const _change of changesOf(dir, interrupt)) {
      // What goes on is about bytes that are no more.
      round.abort('the package changed');
      await going;
      await requireDirectory(dir);
      going = begin('change');
    }
    return exitInterrupted;
  } finally {
    round.abort('it ends');
    await going;
    await close();
  }
}

/** @throws GloveboxError `INPUT_UNREADABLE` where there is none. */
async function firstFixture(dir: string): Promise<string> {
  const names = await readdir(join(dir, 'fixtures')).catch(() => []);
  const isFixture = (name: string): boolean => name.endsWith('.json') && !name.endsWith('.cassette.json');
  const [first] = names.filter(isFixture).sort();
  if (first !== undefined) return first.slice(0, -'.json'.length);
  throw new GloveboxError('INPUT_UNREADABLE', {
    message: `${dir} has no fixture.`,
    hint: 'Add fixtures/<name>.json with { input, config?, expect }, then begin again.',
    place: { file: join(dir, 'fixtures') },
  });
}

function eventsOf(output: Output, fixture: string, beganMs: number): RoundEvents {
  const since = (): number => Math.round(performance.now() - beganMs);
  return {
    onFixture(result, verdict) {
      const { run, state, output: value, error } = result;
      output.event({ event: 'fixture', run, state, output: value, error, fixture: verdict, sinceChangeMs: since() });
      output.progress(`${stateText(state, process.stderr)}  after ${formatDuration(since())}`);
      if (error !== null) output.progress(errorLines(error));
      output.progress(fixtureText(verdict));
    },
    onValidated(validation) {
      output.event({ event: 'validated', ...validation, sinceChangeMs: since() });
      if (output.json === 'no') output.text(validationText(validation));
      output.progress(paint('dim', `· waiting for a change, after ${formatDuration(since())}`, process.stderr));
    },
    onFailure(part, error) {
      const data = toErrorData(error);
      output.event({ event: 'failure', part, error: data });
      if (output.json !== 'no') return;
      // The validation, which comes next, tells what is wrong with the package, in full.
      if (part === 'fixture' && isOfPackage(data)) output.complain(`fixture ${fixture}: not run, ${data.code}`);
      else output.complain(errorText(data));
    },
  };
}

const isOfPackage = ({ code }: ErrorData): boolean => code === 'PACKAGE_INVALID' || code === 'BUILD_FAILED';
