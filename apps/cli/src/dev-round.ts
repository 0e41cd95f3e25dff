import type { Client } from '@glovebox/client';
import { GloveboxError } from '@glovebox/contract';
import type { RunOutcome } from '@glovebox/contract/routes';
import type { FixtureVerdict } from '@glovebox/engine';
import type { Config } from './config.ts';
import { judgeTrial, readFixture, replayOf } from './fixture.ts';
import { findingText, type Output } from './output.ts';
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
  /** One part that fails says nothing of the other one. */
  onFailure: (part: 'fixture' | 'validation', error: unknown) => void;
}

/**
 * One round of development: run the fixture as the package lies there, then validate it. What was checked before over the
 * same bytes is taken from the cache, and the bundle of the run is the first of the two that a validation builds, so a change
 * costs what depends on it. The fixture goes first because its result is what somebody waits for.
 *
 * Resolves once nothing of the round is left, also where the signal is aborted; then nothing more is told.
 */
export async function devRound(
  client: Client,
  pkg: DevPackage,
  output: Output,
  events: RoundEvents,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { result, verdict } = await runFixture(client, pkg, output, signal);
    if (!signal.aborted) events.onFixture(result, verdict);
  } catch (error) {
    if (!signal.aborted) events.onFailure('fixture', error);
  }
  if (signal.aborted) return;
  try {
    const { validation } = await validateDirectory(client, pkg, output, signal);
    if (!signal.aborted) events.onValidated(validation);
  } catch (error) {
    if (!signal.aborted) events.onFailure('validation', error);
  }
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
  const body = { snapshot, ...values, http: replayOf(fixture) };
  const events = client.stream('trials.run', { params: { project }, body, windUp });
  try {
    for await (const event of events) {
      if (event.event === 'log' && !windUp.aborted) output.progress(logText(event.record));
      if (event.event !== 'result') continue;
      const { cassette, ...result } = event.result;
      if (cassette?.kind === 'replayed' && !windUp.aborted)
        for (const finding of cassette.findings) output.progress(findingText(finding));
      return { result, verdict: judgeTrial(fixture, event.result) };
    }
  } catch (error) {
    throw namingDirectory(error, dir);
  }
  throw new GloveboxError('RESPONSE_INVALID', { message: 'The run told no result.' });
}
