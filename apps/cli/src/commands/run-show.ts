import { formatDuration, formatSize, type Json, type LogRecord } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { jsonText, paint, printable, waterfall } from '../output.ts';
import { findRun, runOf } from '../project.ts';
import { errorLines, logText, stateText } from '../run-text.ts';

const shownLogLines = 50;
const shownValueChars = 2000;

export async function run({ args, output }: CommandContext): Promise<number> {
  const params = runOf(args);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    if (args.options.receipt === true) {
      output.raw(await textOf(await client.bytes('runs.receipt', { params })));
      return 0;
    }
    const { run, attempts, last } = await findRun(client, params);
    const end = last.end;
    const logs: LogRecord[] = [];
    for await (const event of client.stream('runs.logs', { params })) {
      if (event.event !== 'log') continue;
      const { seq: _, ...record } = event.record;
      logs.push(record);
    }
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
      journal: (await client.call('runs.journal', { params })).entries,
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
    await close();
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

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
