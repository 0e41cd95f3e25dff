import {
  type ErrorCode,
  errorCatalogue,
  formatDuration,
  formatSize,
  GloveboxError,
  type Json,
} from '@glovebox/contract';
import {
  type Engine,
  type FixtureVerdict,
  judgeFixture,
  runTrial,
  type TrialEvents,
  type TrialResult,
} from '@glovebox/engine';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { readFixture } from '../fixture.ts';
import { exitInterrupted, interruption } from '../interrupts.ts';
import { localActor, openLocalEngine } from '../local-engine.ts';
import { findingText, jsonText, type Output, oneLine, paint } from '../output.ts';
import { projectOf } from '../project.ts';
import { errorLines, logText, stateText } from '../run-text.ts';
import { readValue, withTextFields } from '../values.ts';

const stepTexts: Record<string, string> = {
  read: 'reading the package',
  check: 'checking schemas, input and config',
  restore: 'fetching dependencies',
  bundle: 'bundling in a builder cell',
  boot: 'booting a cell',
  load: 'loading the bundle',
  run: 'running',
  teardown: 'removing the cell',
};

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const { options } = args;
  if (options.trial !== true) throw usage('node run', 'a directory runs as a trial only: add --trial');
  const packageDir = args.positionals[0] as string;
  const fixture = options.fixture === undefined ? undefined : await readFixture(packageDir, options.fixture as string);
  if (fixture && (options.input ?? options.config ?? options['input-text']) !== undefined) {
    throw usage('node run', '--fixture brings its own input and config');
  }
  const fromStdin = [options.input, options.config, ...((options['input-text'] as string[] | undefined) ?? [])].filter(
    (value) => value === '@-' || (typeof value === 'string' && value.endsWith('=@-')),
  );
  if (fromStdin.length > 1) throw usage('node run', 'standard input can be read once: @- stands twice');
  const inputText = fixture
    ? JSON.stringify(fixture.input)
    : await withTextFields(
        await readValue('input', options.input as string | undefined),
        options['input-text'] as string[] | undefined,
      );
  const configText = fixture
    ? JSON.stringify(fixture.config)
    : await readValue('config', options.config as string | undefined);
  const project = projectOf(args);
  const config = await loadConfig(args.global.dataDir);
  const signal = windUp();
  const { engine, close } = await openLocalEngine(config);
  try {
    await buildMissingImages(engine, output, signal);
    const result = await runTrial(
      engine,
      { project, actor: localActor(), packageDir, inputText, configText },
      eventsOf(output),
      signal,
    );
    const verdict = fixture ? judgeFixture(fixture.name, fixture, result) : undefined;
    const { run: id, attempt, state, output: value, error, digest, receiptDigest, phasesMs, peaks } = result;
    output.result(
      {
        run: id,
        attempt,
        state,
        output: value,
        error,
        digest,
        receiptDigest,
        phasesMs,
        peaks,
        ...(verdict ? { fixture: verdict } : {}),
      },
      () => (value === null && state !== 'SUCCEEDED' ? '' : jsonText(value as Json, 2)),
    );
    output.progress(summary(result));
    if (verdict) output.progress(fixtureText(verdict));
    return exitStatus(result, verdict);
  } finally {
    await close();
  }
}

async function buildMissingImages({ images }: Engine, output: Output, signal: AbortSignal): Promise<void> {
  try {
    await images.current('builder');
  } catch (error) {
    if (!GloveboxError.is(error, 'IMAGE_MISSING')) throw error;
    const building = images.build({ onProgress: (line) => output.progress(line) });
    // What a half-made image leaves is removed by whoever comes next.
    await Promise.race([building, interruption(signal)]);
  }
}

function eventsOf(output: Output): TrialEvents {
  const dim = (text: string): string => paint('dim', `· ${text}`, process.stderr);
  return {
    onStep: (step, detail) => {
      output.progress(dim(`${stepTexts[step] ?? step}${detail === undefined ? '' : ` ${detail}`}`));
      output.event({ event: 'step', step, ...(detail === undefined ? {} : { detail }) });
    },
    onWarning: (finding) => {
      output.progress(paint('yellow', findingText(finding), process.stderr));
      output.event({ event: 'warning', ...finding });
    },
    onRun: (ids) => output.event({ event: 'run', ...ids }),
    onLog: (record) => {
      output.progress(logText(record));
      output.event({ event: 'log', ...record });
    },
    onProgress: (progress) => {
      const percent = progress.fraction === undefined ? '' : `${Math.round(progress.fraction * 100)} % `;
      output.progress(dim(`${percent}${oneLine(progress.message ?? '')}`));
      output.event({ event: 'progress', ...progress });
    },
  };
}

function exitStatus({ state, error }: TrialResult, verdict: FixtureVerdict | undefined): number {
  if (state === 'CANCELLED') return exitInterrupted;
  // A code of ours is never what a node claims; what this host cannot is not the node's failure.
  const entry =
    error !== null && Object.hasOwn(errorCatalogue, error.code) ? errorCatalogue[error.code as ErrorCode] : undefined;
  if (entry !== undefined && (entry.exit === 3 || entry.exit === 70)) return entry.exit;
  return (verdict ? verdict.matches : state === 'SUCCEEDED') ? 0 : 1;
}

function fixtureText({ name, matches, differsAt, expected }: FixtureVerdict): string {
  if (matches) return `${paint('green', 'fixture', process.stderr)} ${name}: as expected`;
  const where = differsAt === undefined ? '' : ` at ${differsAt === '' ? 'the top' : oneLine(differsAt)}`;
  return `${paint('red', 'fixture', process.stderr)} ${name}: differs${where}; expected ${jsonText(expected ?? null).slice(0, 300)}`;
}

function summary(result: TrialResult): string {
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
