import { type CellDriver, type CellEnd, type CellFacts, planBundleCell } from '@glovebox/cell';
import { type CellClass, type Digest, type Finding, GloveboxError, type Json } from '@glovebox/contract';
import { checkInputs, inputsOf, type PackageWithArchives } from '../builder-cell/build-inputs.ts';
import { useBuilderCell } from '../builder-cell/builder-cell.ts';
import { type BuilderLayout, buildRequest, cellLayout } from './build-options.ts';
import { type Built, concludeBuild, maxAnswerBytes } from './build-outcome.ts';
import { requestBuild } from './esbuild-service.ts';

/** What a builder cell has for all it does. The driver kills it at the end of that, whatever this process does. */
const buildDeadlineMs = 90_000;

/** `tarballs` are those of `pkg.dependencies`. */
export type BundleRequest = PackageWithArchives;

export interface BundleOptions {
  driver: CellDriver;
  cellClass: CellClass;
  /** Digest of the builder image. */
  image: Digest;
  signal?: AbortSignal;
  /** For tests without a cell. */
  layout?: BuilderLayout;
}

export interface Bundle {
  bundle: Uint8Array;
  /** sha256 of `bundle`. */
  bundleDigest: Digest;
  /** JSON of a source map, with the sources in it. */
  sourceMap: Uint8Array;
  /** What is in the bundle and where it comes from, as esbuild tells it, paths relative to the package. */
  metafile: Json;
  /** What the bundler remarks about the author's files. */
  warnings: Finding[];
}

export type BundleResult =
  | ({ ok: true; cellFacts: CellFacts; end: CellEnd } & Bundle)
  | { ok: false; findings: Finding[] };

/**
 * Make one ES module of a node package and its dependencies, in a fresh builder cell, from nothing but the bytes that are
 * passed. The same bytes give the same bundle on any host.
 *
 * No author or dependency code runs, no install script, no plugin, no configuration of the author's. Resolves only when
 * the cell is confirmed dead.
 *
 * @returns the bundle, or what is wrong with the package: refused archives and dependencies, errors of the bundler with file
 *   and line, and builds that are too large, too slow or too hungry.
 * @throws GloveboxError as CellDriver.boot does, `CELL_BOOT_FAILED`, `CELL_LOST`, `CHANNEL_CORRUPTED`, `INTERRUPTED` when
 *   `signal` is aborted.
 */
export async function bundleNode(request: BundleRequest, options: BundleOptions): Promise<BundleResult> {
  const refused = checkInputs(request);
  if (refused.length > 0) return { ok: false, findings: refused };
  const layout = options.layout ?? cellLayout;
  const result = await useBuilderCell<Built>(options, {
    plan: planBundleCell(options.image, options.cellClass),
    inputs: inputsOf(request),
    deadlineMs: buildDeadlineMs,
    async work({ stdin, stdout }) {
      if (stdin === null) throw new GloveboxError('INTERNAL', { message: 'The driver gave a builder cell no stdin.' });
      const built = await requestBuild(stdin, stdout, buildRequest(layout), maxAnswerBytes);
      if (built.ok) return { answer: built.answer };
      return built.failure.kind === 'ended' ? 'ended' : { failure: built.failure };
    },
  });
  return concludeBuild(result, request, layout);
}
