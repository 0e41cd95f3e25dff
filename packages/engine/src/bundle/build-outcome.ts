import { createHash } from 'node:crypto';
import type { Cell, CellEnd } from '@glovebox/cell';
import { type Digest, type Finding, GloveboxError, type UnpackReport } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import { messageFinding, unpackFindings } from './build-findings.ts';
import { type BuilderLayout, bundleFile } from './build-options.ts';
import { checkBundleContent, parseMetafile } from './bundle-content.ts';
import type { BundleRequest, BundleResult } from './bundle-node.ts';
import type { BuildAnswer, ServiceFailure } from './esbuild-service.ts';
import { printable } from './printable.ts';

/** The longest answer that is taken from the bundler. Beyond it nothing is read. */
export const maxAnswerBytes =
  buildLimits.bundleBytes + buildLimits.sourceMapBytes + buildLimits.metafileBytes + 1024 * 1024;

/** Messages of the bundler that are passed on. It is told to stop at as many, but it is a hostile cell that answers. */
const maxMessages = 20;

/** How the bundle step of a cell went. `ended`: the cell's output ended, so it is dying of something. */
export type BuildOutcome =
  | { kind: 'built'; answer: BuildAnswer; report: UnpackReport }
  | { kind: 'refused'; report: UnpackReport }
  | { kind: 'ended'; during: 'boot' | 'unpack' | 'bundle' }
  | { kind: 'failed'; failure: Exclude<ServiceFailure, { kind: 'ended' }> };

/**
 * What a builder cell's work comes to, once the cell is dead: a bundle, or findings for the package's author.
 *
 * @throws GloveboxError for what is nobody's doing but ours or the host's.
 */
export function concludeBuild(
  outcome: BuildOutcome,
  cell: Cell,
  end: CellEnd,
  request: BundleRequest,
  layout: BuilderLayout,
  stderrText: string,
): BundleResult {
  if (outcome.kind === 'refused') return { ok: false, findings: unpackFindings(outcome.report) };
  if (outcome.kind === 'ended') return { ok: false, findings: [explainEnd(outcome.during, end, stderrText)] };
  if (outcome.kind === 'failed') return { ok: false, findings: [explainFailure(outcome.failure)] };
  return readBundle(outcome.answer, outcome.report, cell, end, request, layout);
}

function readBundle(
  answer: BuildAnswer,
  report: UnpackReport,
  cell: Cell,
  end: CellEnd,
  { pkg }: BundleRequest,
  layout: BuilderLayout,
): BundleResult {
  if (answer.errors.length > 0) {
    return {
      ok: false,
      findings: answer.errors
        .slice(0, maxMessages)
        .map((message) => messageFinding(message, 'error', pkg.dependencies, layout)),
    };
  }
  const output = (path: string): Uint8Array | undefined =>
    answer.outputFiles?.find((file) => file.path === path)?.contents;
  const bundle = output(`${layout.tree}/${bundleFile}`);
  const sourceMap = output(`${layout.tree}/${bundleFile}.map`);
  if (bundle === undefined || sourceMap === undefined || answer.metafile === undefined) {
    throw new GloveboxError('CHANNEL_CORRUPTED', { message: 'The bundler answered without a bundle.' });
  }
  if (bundle.byteLength > buildLimits.bundleBytes)
    return { ok: false, findings: [tooLarge('bundle', bundle.byteLength, buildLimits.bundleBytes)] };
  if (sourceMap.byteLength > buildLimits.sourceMapBytes) {
    return { ok: false, findings: [tooLarge('source map', sourceMap.byteLength, buildLimits.sourceMapBytes)] };
  }
  if (answer.metafile.byteLength > buildLimits.metafileBytes) {
    return { ok: false, findings: [tooLarge('metafile', answer.metafile.byteLength, buildLimits.metafileBytes)] };
  }
  const { metafile, json } = parseMetafile(answer.metafile);
  const findings = checkBundleContent(metafile, pkg, report.webAssembly, layout);
  if (findings.length > 0) return { ok: false, findings };
  return {
    ok: true,
    // Copies: the answer's packet holds all of them in one buffer, which would live as long as any.
    bundle: new Uint8Array(bundle),
    bundleDigest: `sha256:${createHash('sha256').update(bundle).digest('hex')}` as Digest,
    sourceMap: new Uint8Array(sourceMap),
    metafile: json,
    warnings: answer.warnings
      .slice(0, maxMessages)
      .map((message) => messageFinding(message, 'warning', pkg.dependencies, layout)),
    cellFacts: cell.facts,
    end,
  };
}

function finding(rule: Finding['rule'], message: string, hint: string): Finding {
  return { rule, severity: 'error', message, hint, place: {} };
}

function tooLarge(what: string, sizeBytes: number, limitBytes: number): Finding {
  return finding(
    'BUNDLE_TOO_LARGE',
    `The ${what} has ${sizeBytes} bytes; the limit is ${limitBytes}.`,
    'Use fewer or smaller dependencies, or import only the parts that are needed.',
  );
}

function explainFailure(failure: Exclude<ServiceFailure, { kind: 'ended' }>): Finding {
  if (failure.kind === 'too-large') return tooLarge("bundler's answer", failure.sizeBytes, maxAnswerBytes);
  throw new GloveboxError('CHANNEL_CORRUPTED', {
    message: `The builder cell was stopped: ${printable(failure.detail)}.`,
  });
}

/**
 * Why a builder cell ended before it gave its answer. Running out of time or memory is the package's doing; everything else
 * is a defect or the host's, and is thrown.
 */
function explainEnd(during: 'boot' | 'unpack' | 'bundle', end: CellEnd, stderrText: string): Finding {
  if (end.error !== undefined) throw new GloveboxError(end.error.code, end.error);
  if (end.cause === 'deadline' || end.cause === 'lifetime') {
    return finding('BUILD_TIMED_OUT', 'Bundling took too long and was stopped.', 'Use fewer or smaller dependencies.');
  }
  if (end.cause === 'oom') {
    return finding(
      'BUILD_OUT_OF_MEMORY',
      'The builder cell used all of its memory.',
      'Use fewer or smaller dependencies.',
    );
  }
  // A crash of the bundler that the author's source makes, again and again, is no fault of the host.
  if (during === 'bundle' && /^fatal error: stack overflow$/m.test(stderrText)) {
    return finding('BUILD_FAILED', 'The source is nested too deep for the bundler.', 'Nest less.');
  }
  const how = end.exit.signal ?? `exit code ${end.exit.code}`;
  const lines = stderrText.split('\n').filter((line) => line.trim() !== '');
  const said = printable(lines.slice(0, 5).join(' '), 500);
  throw new GloveboxError(during === 'boot' ? 'CELL_BOOT_FAILED' : 'CELL_LOST', {
    message: `The builder cell ended (${end.cause}, ${how}) in its ${during} step${said === '' ? '.' : `: ${said}`}`,
  });
}
