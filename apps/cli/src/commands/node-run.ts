import { existsSync } from 'node:fs';
import type { Client } from '@glovebox/client';
import {
  type ErrorCode,
  errorCatalogue,
  formatDuration,
  formatSize,
  GloveboxError,
  type Json,
  parseReference,
  type Release,
} from '@glovebox/contract';
import type { RunEvent, RunOutcome } from '@glovebox/contract/routes';
import type { FixtureVerdict, TrialCassette, TrialHttp } from '@glovebox/engine';
import { usage } from '../args.ts';
import { type CassetteTarget, cassetteTarget, writeCassette } from '../cassette-file.ts';
import type { CommandContext } from '../commands.ts';
import { type Config, loadConfig } from '../config.ts';
import { fixtureText, judgeTrial, readFixture, replayOf } from '../fixture.ts';
import { exitInterrupted } from '../interrupts.ts';
import { openApi } from '../local-api.ts';
import { findingText, jsonText, type Output, oneLine, paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';
import { errorLines, logText, stateText } from '../run-text.ts';
import { namingDirectory, readTrialUpload } from '../trial-upload.ts';
import { exactJson, readValue, withTextFields } from '../values.ts';

const stepTexts: Record<string, string> = {
  read: 'reading the package',
  check: 'checking schemas, input and config',
  restore: 'fetching dependencies',
  bundle: 'bundling in a builder cell',
  boot: 'booting a cell',
  load: 'loading the bundle',
  resolve: 'looking up the release',
  run: 'running',
  teardown: 'removing the cell',
};

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const { options } = args;
  const target = args.positionals[0] as string;
  const trial = options.trial === true;
  const release = trial ? undefined : releaseArgument(target, projectOf(args));
  if (!trial && options.fixture !== undefined) throw usage('node run', '--fixture needs a directory and --trial');
  if (!trial && options.record !== undefined) throw usage('node run', '--record needs a directory and --trial');
  if (options.record === undefined && options.force === true) throw usage('node run', '--force needs --record');
  const fixture = options.fixture === undefined ? undefined : await readFixture(target, options.fixture as string);
  if (fixture && (options.input ?? options.config ?? options['input-text']) !== undefined) {
    throw usage('node run', '--fixture brings its own input and config');
  }
  const fromStdin = [options.input, options.config, ...((options['input-text'] as string[] | undefined) ?? [])].filter(
    (value) => value === '@-' || (typeof value === 'string' && value.endsWith('=@-')),
  );
  if (fromStdin.length > 1) throw usage('node run', 'standard input can be read once: @- stands twice');
  const inputText = fixture
    ? exactJson(fixture.input)
    : await withTextFields(
        await readValue('input', options.input as string | undefined),
        options['input-text'] as string[] | undefined,
      );
  const configText = fixture
    ? exactJson(fixture.config)
    : await readValue('config', options.config as string | undefined);
  const values = { inputText, configText };
  const record =
    options.record === undefined
      ? undefined
      : await cassetteTarget(target, options.record as string, options.force === true ? 'replace' : 'refuse');
  const http: TrialHttp = record ? { kind: 'record' } : fixture ? replayOf(fixture) : { kind: 'live' };
  const project = projectOf(args);
  const config = await loadConfig(args.global.dataDir);
  const signal = windUp();
  const { client, close } = await openApi(config, 'cells');
  try {
    const result: TrialOutcome & { release?: Release } =
      release === undefined
        ? await runTrial(client, { project, dir: target, config, http, ...values }, output, signal)
        : await lastOf(
            client.stream('runs.start', {
              params: { project: release.project },
              body: { reference: release.reference, ...values },
              windUp: signal,
            }),
            output,
          );
    const verdict = fixture ? judgeTrial(fixture, result) : undefined;
    const cassette = await keepCassette(result.cassette, record);
    const { run: id, attempt, state, output: value, error, digest, receiptDigest, phasesMs, peaks } = result;
    output.result(
      {
        run: id,
        ...(result.release === undefined ? {} : { ref: result.release.ref }),
        attempt,
        state,
        output: value,
        error,
        digest,
        receiptDigest,
        phasesMs,
        peaks,
        ...(verdict ? { fixture: verdict } : {}),
        ...(cassette ? { cassette } : {}),
      },
      () => (value === null && state !== 'SUCCEEDED' ? '' : jsonText(value as Json, 2)),
    );
    output.progress(summary(result));
    tellCassette(cassette, output);
    if (verdict) output.progress(fixtureText(verdict));
    return exitStatus(result, verdict) || (cassette?.kind === 'not-recorded' ? 1 : 0);
  } finally {
    await close();
  }
}

/** A directory is never run without --trial. A name that can be both is refused: whoever means the release can say more of it. */
function releaseArgument(target: string, project: string): { project: string; reference: string } {
  if (parseReference(target) === undefined)
    throw usage('node run', `${target} is no reference; a directory runs as a trial only: add --trial`);
  if (existsSync(target))
    throw usage('node run', `${target} is a directory here: add --trial, or name the release ${project}/${target}`);
  return releaseOf(target, project);
}

/** Tell every event, and give the result. */
async function lastOf<Result extends RunOutcome>(
  events: AsyncIterable<RunEvent | { event: 'result'; result: Result }>,
  output: Output,
  beforeFirst: () => void = () => undefined,
): Promise<Result> {
  for await (const event of events) {
    if (event.event === 'result') return event.result;
    // What is odd about the directory stands before what is odd about its build, and before the run.
    if (event.event === 'warning' || event.event === 'run') beforeFirst();
    tell(event, output);
  }
  throw new GloveboxError('RESPONSE_INVALID', { message: 'The run told no result.' });
}

type TrialOutcome = RunOutcome & { cassette?: TrialCassette };

/** As it is told: of a recording where it lies, and not what is in it. */
type ToldCassette = Exclude<TrialCassette, { kind: 'recorded' }> | { kind: 'recorded'; file: string; requests: number };

async function keepCassette(
  cassette: TrialCassette | undefined,
  target: CassetteTarget | undefined,
): Promise<ToldCassette | undefined> {
  if (cassette?.kind !== 'recorded') return cassette;
  if (target === undefined) throw new GloveboxError('RESPONSE_INVALID', { message: 'The run recorded unasked.' });
  await writeCassette(target, cassette.text);
  const { entries } = JSON.parse(cassette.text) as { entries: unknown[] };
  return { kind: 'recorded', file: target.file, requests: entries.length };
}

function tellCassette(cassette: ToldCassette | undefined, output: Output): void {
  switch (cassette?.kind) {
    case 'recorded':
      output.progress(
        `  recorded ${cassette.requests} request${cassette.requests === 1 ? '' : 's'} in ${cassette.file}; paths and bodies are kept as they came: read it before you share it`,
      );
      return;
    case 'not-recorded':
      output.progress(errorLines(cassette.error));
      return;
    case 'replayed':
      for (const finding of cassette.findings) output.progress(paint('yellow', findingText(finding), process.stderr));
  }
}

/** Upload a directory and run it. @throws GloveboxError `PACKAGE_INVALID` with the findings, and as the route does. */
async function runTrial(
  client: Client,
  { project, dir, config, ...values }: { project: string; dir: string; config: Config; http: TrialHttp } & RunTexts,
  output: Output,
  windUp: AbortSignal,
): Promise<TrialOutcome> {
  const { snapshot, warnings } = await readTrialUpload(dir, config);
  const pending = [...warnings];
  try {
    const events = client.stream('trials.run', { params: { project }, body: { snapshot, ...values }, windUp });
    return await lastOf(events, output, () => {
      for (const finding of pending.splice(0)) tell({ event: 'warning', finding }, output);
    });
  } catch (error) {
    throw namingDirectory(error, dir);
  }
}

interface RunTexts {
  inputText: string;
  configText: string;
}

function tell(event: RunEvent, output: Output): void {
  const dim = (text: string): string => paint('dim', `· ${text}`, process.stderr);
  switch (event.event) {
    case 'step': {
      const { step, detail } = event;
      if (step === 'image') {
        if (detail !== undefined) output.progress(detail);
        return;
      }
      output.progress(dim(`${stepTexts[step] ?? step}${detail === undefined ? '' : ` ${detail}`}`));
      output.event(event);
      return;
    }
    case 'warning':
      output.progress(paint('yellow', findingText(event.finding), process.stderr));
      output.event({ event: 'warning', ...event.finding });
      return;
    case 'deprecated': {
      const { ref, reason } = event.release;
      output.progress(paint('yellow', `${ref} is deprecated: ${oneLine(reason ?? '')}`, process.stderr));
      output.event({ event: 'deprecated', ref, reason });
      return;
    }
    case 'run':
      output.event(event);
      return;
    case 'log':
      output.progress(logText(event.record));
      output.event({ event: 'log', ...event.record });
      return;
    case 'progress': {
      const { fraction, message } = event.progress;
      const percent = fraction === undefined ? '' : `${Math.round(fraction * 100)} % `;
      output.progress(dim(`${percent}${oneLine(message ?? '')}`));
      output.event({ event: 'progress', ...event.progress });
      return;
    }
    case 'skipped':
      output.progress(dim(`${event.events} lines came too fast to be shown; glovebox run logs has them all`));
      output.event(event);
      return;
    case 'accepted':
  }
}

function exitStatus({ state, error }: RunOutcome, verdict: FixtureVerdict | undefined): number {
  if (state === 'CANCELLED') return exitInterrupted;
  // A code of ours is never what a node claims; what this host cannot is not the node's failure.
  const entry =
    error !== null && Object.hasOwn(errorCatalogue, error.code) ? errorCatalogue[error.code as ErrorCode] : undefined;
  if (entry !== undefined && (entry.exit === 3 || entry.exit === 70)) return entry.exit;
  return (verdict ? verdict.matches : state === 'SUCCEEDED') ? 0 : 1;
}

function summary(result: RunOutcome): string {
  const { phasesMs: phases, peaks, limits } = result;
  const lines = [
    `${stateText(result.state, process.stderr)}  ${result.node.id}@${result.node.version}  boot ${formatDuration(phases.boot)}, load ${formatDuration(phases.load)}, run ${formatDuration(phases.run)}, teardown ${formatDuration(phases.teardown)}`,
    ...(result.error ? [errorLines(result.error)] : []),
    `  memory ${peaks.memoryBytes === null ? 'unknown' : formatSize(peaks.memoryBytes)} of ${formatSize(limits.memoryBytes + limits.scratchBytes)}, pids ${peaks.pids ?? 'unknown'} of ${limits.pids}, output ${formatSize(peaks.outputBytes)} of ${formatSize(limits.outputBytes)}`,
    ...result.files.map((file) => `  file ${file.name}  ${formatSize(file.sizeBytes)}  ${file.mediaType}`),
    `  run ${result.run}  receipt ${result.receiptDigest}`,
  ];
  return lines.join('\n');
}
