import { createHash } from 'node:crypto';
import type { CellEnd, CellFacts } from '@glovebox/cell';
import { type Digest, type Finding, GloveboxError, type UnpackReport } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import type { BuilderResult, BuilderStep } from '../builder-cell/builder-cell.ts';
import { explainEnd } from '../builder-cell/explain-end.ts';
import { unpackFindings, unpackNotices } from '../builder-cell/unpack-findings.ts';
import { printable } from '../printable.ts';
import { messageFinding } from './build-findings.ts';
import { type BuilderLayout, bundleFile } from './build-options.ts';
import { checkBundleContent, parseMetafile } from './bundle-content.ts';
import type { BundleRequest, BundleResult } from './bundle-node.ts';
import type { BuildAnswer, ServiceFailure } from './esbuild-service.ts';

/** The longest answer that is taken from the bundler. Beyond it nothing is read. */
export const maxAnswerBytes =
  buildLimits.bundleBytes + buildLimits.sourceMapBytes + buildLimits.metafileBytes + 1024 * 1024;

/** Messages of the bundler that are passed on. It is told to stop at as many, but it is a hostile cell that answers. */
const maxMessages = 20;

/** What the bundler gave. */
export type Built = { answer: BuildAnswer } | { failure: Exclude<ServiceFailure, { kind: 'ended' }> };

/**
 * What a builder cell's work comes to, once the cell is dead: a bundle, or findings for the package's author.
 *
 * @throws GloveboxError for what is nobody's doing but ours or the host's.
 */
export function concludeBuild(
  { outcome, end, facts, stderrText }: BuilderResult<Built>,
  request: BundleRequest,
  layout: BuilderLayout,
): BundleResult {
  if (outcome.kind === 'refused') return { ok: false, findings: unpackFindings(outcome.report) };
  if (outcome.kind === 'ended') return { ok: false, findings: [explainBuildEnd(outcome.during, end, stderrText)] };
  if ('failure' in outcome.value) return { ok: false, findings: [explainFailure(outcome.value.failure)] };
  return readBundle(outcome.value.answer, outcome.report, { cellFacts: facts, end }, request, layout);
}

function readBundle(
  answer: BuildAnswer,
  report: UnpackReport,
  cell: { cellFacts: CellFacts; end: CellEnd },
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
    warnings: [
      ...answer.warnings
        .slice(0, maxMessages)
        .map((message) => messageFinding(message, 'warning', pkg.dependencies, layout)),
      ...unpackNotices(report),
    ],
    ...cell,
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

/** Why a builder cell ended before it gave its answer. Running out of time or memory is the package's doing. */
function explainBuildEnd(during: BuilderStep, end: CellEnd, stderrText: string): Finding {
  const why = explainEnd(during, end, stderrText);
  if (why === 'time') {
    return finding('BUILD_TIMED_OUT', 'Bundling took too long and was stopped.', 'Use fewer or smaller dependencies.');
  }
  if (why === 'memory') {
    return finding(
      'BUILD_OUT_OF_MEMORY',
      'The builder cell used all of its memory.',
      'Use fewer or smaller dependencies.',
    );
  }
  // A crash of the bundler that the author's source makes, again and again, is no fault of the host.
  if (during === 'work' && /^fatal error: stack overflow$/m.test(stderrText)) {
    return finding('BUILD_FAILED', 'The source is nested too deep for the bundler.', 'Nest less.');
  }
  throw why;
}
