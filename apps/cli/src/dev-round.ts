import type { Client } from '@glovebox/client';
import { GloveboxError } from '@glovebox/contract';
import type { RunOutcome } from '@glovebox/contract/routes';
import { type FixtureVerdict, judgeFixture } from '@glovebox/engine';
import type { Config } from './config.ts';
import { readFixture } from './fixture.ts';
import type { Output } from './output.ts';
import { logText } from './run-text.ts';
import { namingDirectory, readTrialUpload } from './trial-upload.ts';
import { type Validation, validateDirectory } from './validation.ts';
import { exactJson } from './values.ts';

export interface DevPackage {
  project: string;
  dir: string;
  config: Config;
  /** Name of the fixture that is run. */
  fixture: string;
}

export interface RoundEvents {
  onFixture: (result: RunOutcome, verdict: FixtureVerdict) => void;
  onValidated: (validation: Validation) => void;
  /** The part that failed says nothing of the other one. */
  onFailure: (error: unknown) => void;
}

/**
 * One round of development: run the fixture as the package lies there, and validate it, side by side. What was checked
 * before over the same bytes is taken from the cache, so that a change costs what depends on it.
 */
export async function devRound(
  client: Client,
  pkg: DevPackage,
  output: Output,
  events: RoundEvents,
  signal: AbortSignal,
): Promise<void> {
  const unlessAborted = (error: unknown): void => {
    if (!signal.aborted) events.onFailure(error);
  };
  const fixture = runFixture(client, pkg, output, signal).then(
    ({ result, verdict }) => events.onFixture(result, verdict),
    unlessAborted,
  );
  const validated = validateDirectory(client, pkg, output, signal).then((validation) => {
    if (!signal.aborted) events.onValidated(validation);
  }, unlessAborted);
  await Promise.all([fixture, validated]);
}

async function runFixture(
  client: Client,
  { project, dir, config, fixture: name }: DevPackage,
  output: Output,
  windUp: AbortSignal,
): Promise<{ result: RunOutcome; verdict: FixtureVerdict }> {
  const fixture = await readFixture(dir, name);
  const { snapshot } = await readTrialUpload(dir, config);
  const values = { inputText: exactJson(fixture.input), configText: exactJson(fixture.config) };
  try {
    for await (const event of client.stream('trials.run', {
      params: { project },
      body: { snapshot, ...values },
      windUp,
    })) {
      if (event.event === 'log') output.progress(logText(event.record));
      if (event.event === 'result') return { result: event.result, verdict: judgeFixture(name, fixture, event.result) };
    }
  } catch (error) {
    throw namingDirectory(error, dir);
  }
  throw new GloveboxError('RESPONSE_INVALID', { message: 'The run told no result.' });
}
