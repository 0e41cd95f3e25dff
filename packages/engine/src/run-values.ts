import { fromFindings, GloveboxError, parseJson } from '@glovebox/contract';
import type { ValueJudge } from '@glovebox/validate';
import type { AttemptReport } from './attempt/run-attempt.ts';

/** Input and config as JSON text. Bytes of UTF-8, and levels of nesting. */
export const valueLimits = { maxBytes: 16 * 1024 * 1024, maxDepth: 128 } as const;

/** What a run is given, as JSON texts. */
export interface RunValues {
  inputText: string;
  configText: string;
}

const names = { inputText: 'input', configText: 'config' } as const;

/** @throws GloveboxError `INPUT_NOT_JSON` for either that is not JSON within valueLimits. */
export function requireJson(values: RunValues): void {
  for (const key of ['inputText', 'configText'] as const) {
    const parsed = parseJson(values[key], valueLimits);
    if (!parsed.ok) {
      throw new GloveboxError('INPUT_NOT_JSON', {
        message: `The ${names[key]} is not usable JSON: ${parsed.detail}.`,
        place: { path: `/${names[key]}` },
      });
    }
  }
}

/** Check input and config against the schemas of the node. @throws GloveboxError `INPUT_INVALID`, `CONFIG_VALUE_INVALID`. */
export async function requireFitting(judge: ValueJudge, { inputText, configText }: RunValues): Promise<void> {
  const input = await judge.check('input', inputText);
  if (input.length > 0) throw new GloveboxError('INPUT_INVALID', fromFindings(input));
  const config = await judge.check('config', configText);
  if (config.length > 0) throw new GloveboxError('CONFIG_VALUE_INVALID', fromFindings(config));
}

/**
 * What the node gave is parsed and checked where it can hurt nobody; a refused output is no output. A stack of the node's is
 * mapped to its author's files.
 */
export async function judgeOutput(judge: ValueJudge, report: AttemptReport, sourceMap: Uint8Array): Promise<void> {
  if (report.outputText !== null) {
    try {
      const findings = await judge.check('output', report.outputText);
      if (findings.length === 0) return;
      const { message, place, hint, details } = fromFindings(findings);
      report.error = {
        code: findings[0]?.rule ?? 'OUTPUT_INVALID',
        message: message ?? '',
        ...(hint ? { hint } : {}),
        ...(place ? { place } : {}),
        details,
      };
    } catch (error) {
      if (!(error instanceof GloveboxError)) throw error;
      report.error = error.toData();
    }
    report.state = 'FAILED';
    report.claimed = false;
    report.observed = { state: 'FAILED', errorCode: report.error.code };
    report.outputText = null;
    return;
  }
  if (report.error && 'stack' in report.error && report.error.stack !== undefined) {
    report.error.stack = await judge.mapStack(report.error.stack, new TextDecoder().decode(sourceMap));
  }
}
