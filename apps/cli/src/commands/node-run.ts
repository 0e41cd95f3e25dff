import { formatDuration, formatSize, GloveboxError, type Json, type LogRecord } from '@glovebox/contract';
import { runTrial, type TrialResult } from '@glovebox/engine';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { type FixtureVerdict, judgeFixture, readFixture } from '../fixture.ts';
import { localActor, openLocalEngine } from '../local-engine.ts';
import { jsonText, paint, printable } from '../output.ts';
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

export async function run({ args, output, signal }: CommandContext): Promise<number> {
  const { options } = args;
  if (options.trial !== true) throw usage('node run', 'a directory runs as a trial only: add --trial');
  const packageDir = args.positionals[0] as string;
  const fixture = options.fixture === undefined ? undefined : await readFixture(packageDir, options.fixture as string);
  if (fixture && (options.input ?? options.config ?? options['input-text']) !== undefined) {
    throw usage('node run', '--fixture brings its own input and config');
  }
  const inputText = fixture
    ? JSON.stringify(fixture.input)
    : await withTextFields(
        await readValue('input', options.input as string | undefined),
        options['input-text'] as string[] | undefined,
      );
  const configText = fixture
    ? JSON.stringify(fixture.config ?? {})
    : await readValue('config', options.config as string | undefined);
  const project = projectOf(args);
  const config = await loadConfig(args.global.dataDir);
  const { engine, close } = await openLocalEngine(config);
  try {
    await engine.images.current('builder').catch(async (error: unknown) => {
      if (!GloveboxError.is(error, 'IMAGE_MISSING')) throw error;
      await engine.images.build({ onProgress: (line) => output.progress(line) });
    });
    const result = await runTrial(
      engine,
      { project, actor: localActor(), packageDir, inputText, configText },
      {
        onStep: (step, detail) => {
          output.progress(
            paint('dim', `· ${stepTexts[step] ?? step}${detail === undefined ? '' : ` ${detail}`}`, process.stderr),
          );
          output.event({ event: 'step', step, ...(detail === undefined ? {} : { detail }) });
        },
        onRun: (ids) => output.event({ event: 'run', ...ids }),
        onLog: (record: LogRecord) => {
          output.progress(logText(record));
          output.event({ event: 'log', ...record });
        },
        onProgress: (progress) => {
          const percent = progress.fraction === undefined ? '' : `${Math.round(progress.fraction * 100)} % `;
          output.progress(paint('dim', `· ${percent}${progress.message ?? ''}`, process.stderr));
          output.event({ event: 'progress', ...progress });
        },
      },
      signal,
    );
    const verdict = fixture ? judgeFixture(fixture, result) : undefined;
    const { run: id, attempt, state, output: value, error, digest, receiptDigest, phasesMs, peaks, files } = result;
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
        files,
        ...(verdict ? { fixture: verdict } : {}),
      },
      () => (value === null && state !== 'SUCCEEDED' ? '' : jsonText(value as Json, 2)),
    );
    output.progress(summary(result));
    if (signal.aborted) return 130;
    if (verdict) output.progress(fixtureText(verdict));
    return (verdict ? verdict.matches : state === 'SUCCEEDED') ? 0 : 1;
  } finally {
    await close();
  }
}

function fixtureText({ name, matches, differsAt, expected }: FixtureVerdict): string {
  if (matches) return `${paint('green', 'fixture', process.stderr)} ${name}: as expected`;
  const where = differsAt === undefined ? '' : ` at ${differsAt === '' ? 'the top' : printable(differsAt)}`;
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
