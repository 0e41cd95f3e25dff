import { formatDuration, formatSize, GloveboxError, type Json, type LogRecord } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openRecords } from '../local-engine.ts';
import { jsonText, paint, printable, waterfall } from '../output.ts';
import { findRun } from '../project.ts';
import { errorLines, logText, stateText } from '../run-text.ts';

const shownLogLines = 50;
const shownValueChars = 2000;

export async function run({ args, output }: CommandContext): Promise<number> {
  const store = await openRecords(await loadConfig(args.global.dataDir));
  try {
    const { run, attempts, last } = await findRun(store.runs, args);
    const end = last.end;
    if (args.options.receipt === true) {
      if (!end?.receiptText)
        throw new GloveboxError('NOT_FOUND', {
          message: `Run ${run.id} has no receipt.`,
          hint: 'Only attempts that had a cell have one.',
        });
      output.raw(end.receiptText);
      return 0;
    }
    const logs: LogRecord[] = (await store.runs.logs(last.id)).map(({ seq: _seq, ...record }) => record);
    const parse = (text: string | null): Json => (text === null ? null : (JSON.parse(text) as Json));
    const files = end?.files ?? [];
    const document = {
      run: run.id,
      attempt: last.id,
      state: last.state,
      input: parse(run.inputText),
      config: parse(run.configText),
      output: parse(end?.outputText ?? null),
      error: end?.error ?? null,
      digest: end?.bundleDigest ?? null,
      receiptDigest: end?.receiptDigest ?? null,
      phasesMs: end?.phasesMs ?? null,
      peaks: end?.peaks ?? null,
      files,
      logs,
    };
    const createdAt = new Date(run.createdAtMs).toISOString();
    const record = async () => ({
      project: run.project,
      node: run.node,
      mode: run.mode,
      actor: run.actor,
      createdAt,
      endedAt: end ? new Date(end.endedAtMs).toISOString() : null,
      image: end?.imageDigest ?? null,
      limits: run.limits,
      logTruncated: end?.logTruncated ?? false,
      attempts: attempts.map(({ id, number, state }) => ({ id, number, state })),
      journal: await store.runs.journal(run.id),
    });
    const shown = args.options.record === true ? { ...document, record: await record() } : document;
    output.result(shown, () => {
      const parts = [
        `${paint('bold', run.id)}  ${stateText(last.state)}`,
        `  node      ${run.node.id}@${run.node.version}  ${run.node.revision.slice(0, 19)}…`,
        `  created   ${createdAt} by ${run.actor}`,
        ...(end?.bundleDigest ? [`  bundle    ${end.bundleDigest}`] : []),
        ...(end?.receiptDigest ? [`  receipt   ${end.receiptDigest}`] : []),
      ];
      if (end) {
        parts.push('', paint('bold', 'phases'), waterfall(end.phasesMs));
        const { memoryBytes, pids, outputBytes } = end.peaks;
        parts.push(
          '',
          paint('bold', 'peaks'),
          `  memory    ${memoryBytes === null ? 'unknown' : formatSize(memoryBytes)} of ${formatSize(run.limits.memoryBytes + run.limits.scratchBytes)}`,
          `  pids      ${pids ?? 'unknown'} of ${run.limits.pids}`,
          `  output    ${formatSize(outputBytes)} of ${formatSize(run.limits.outputBytes)}`,
          `  time      ${formatDuration(end.phasesMs.load + end.phasesMs.run)} of ${formatDuration(run.limits.timeoutMs)}`,
        );
      }
      parts.push('', paint('bold', 'input'), value(document.input), paint('bold', 'config'), value(document.config));
      if (end?.outputText != null) parts.push(paint('bold', 'output'), value(document.output));
      if (end?.error) parts.push(paint('bold', 'error'), errorLines(end.error));
      if (files.length > 0) {
        parts.push(
          paint('bold', 'files'),
          ...files.map((file) => `  ${file.name}  ${file.mediaType}  ${formatSize(file.sizeBytes)}  ${file.digest}`),
        );
      }
      parts.push(
        paint('bold', `logs (${logs.length})`),
        ...logs.slice(-shownLogLines).map((record) => `  ${logText(record)}`),
      );
      if (logs.length > shownLogLines) parts.push(`  … the last ${shownLogLines}; glovebox run logs ${run.id} has all`);
      return parts.join('\n');
    });
    return 0;
  } finally {
    await store.close();
  }
}

function value(json: Json): string {
  const text = jsonText(json, 2);
  const cut =
    text.length > shownValueChars
      ? `${text.slice(0, shownValueChars)}\n… ${text.length - shownValueChars} characters more; --json has all`
      : text;
  return printable(cut).replace(/^/gm, '  ');
}
