import { type Finding, fromFindings, GloveboxError } from '@glovebox/contract';
import { locateFindings, openJudge, readNodePackage, readPackageFiles, type ValueJudge } from '@glovebox/validate';
import { buildNode } from './build-node.ts';
import type { Engine } from './engine.ts';
import { performRun, type RunEvents, type RunResult } from './perform-run.ts';
import type { NodePackage } from './ports.ts';
import { type RunValues, requireFitting, requireJson } from './run-values.ts';
import { openTrialEgress, type TrialCassette, type TrialHttp } from './trial-http.ts';

export type TrialRequest = RunValues & {
  project: string;
  actor: string;
  /** Live where it is left out. */
  http?: TrialHttp;
} & TrialSource;

/** Where the package is: in a directory of this host, or among bytes that were taken by gatherSnapshot. */
export type TrialSource = { packageDir: string } | { files: ReadonlyMap<string, Uint8Array> };

export interface TrialEvents extends RunEvents {
  /** What is odd about the package or its build, and hinders nothing. */
  onWarning?: (finding: Finding) => void;
}

/** `cassette` is there where requests were recorded or played, or asked for in vain. */
export type TrialResult = RunResult & { cassette?: TrialCassette };

/**
 * Run a node package once, in a fresh cell, as it lies on disk or was sent: read it in one snapshot, check the values
 * against its schemas, bundle it in a builder cell, run it, check what it gave, and sign a receipt.
 *
 * Nothing is recorded, and no run cell boots, unless package, input and config are fine and the bundle was made.
 *
 * @throws GloveboxError `PACKAGE_INVALID` and `BUILD_FAILED` with the findings as details, `INPUT_NOT_JSON`,
 *   `INPUT_INVALID`, `CONFIG_VALUE_INVALID`, `CASSETTE_INVALID`, `INTERRUPTED`, and what hosts, stores and registries may lack. What the node
 *   itself does wrong is in the result.
 */
export async function runTrial(
  engine: Engine,
  request: TrialRequest,
  events: TrialEvents = {},
  signal?: AbortSignal,
): Promise<TrialResult> {
  const acceptedAtMs = engine.monotonicMs();
  const { project, actor, inputText, configText } = request;
  events.onStep?.('read');
  requireJson(request);
  const { pkg, warnings } = await readPackage(engine, request);
  const egress = openTrialEgress(engine, pkg.files, request.http ?? { kind: 'live' });
  const image = await engine.images.current('runtime');
  const judge = openJudge({ input: pkg.manifest.input, config: pkg.manifest.config, output: pkg.manifest.output });
  try {
    events.onStep?.('check');
    const [, built] = await both(checkPackage(judge, pkg, request), buildNode(engine, pkg, events, signal));
    for (const warning of [...warnings, ...built.warnings]) events.onWarning?.(warning);
    const { manifest, version, revision } = pkg;
    const { bundle, bundleDigest, sourceMap } = built;
    const result = await performRun(
      { ...engine, ...egress.parts },
      {
        project,
        actor,
        mode: 'trial',
        release: null,
        manifest,
        version,
        revision,
        bundle,
        bundleDigest,
        sourceMap,
        image: image.digest,
        judge,
        inputText,
        configText,
        acceptedAtMs,
      },
      events,
      signal,
    );
    const cassette = egress.outcome(result);
    return cassette === undefined ? result : { ...result, cassette };
  } finally {
    judge.close();
  }
}

/** Wait for both, and for the second even if the first fails: a cell must not outlive the call. The first failure wins. */
async function both<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  const [left, right] = await Promise.allSettled([a, b]);
  if (left.status === 'rejected') throw left.reason;
  if (right.status === 'rejected') throw right.reason;
  return [left.value, right.value];
}

async function readPackage(engine: Engine, source: TrialSource): Promise<{ pkg: NodePackage; warnings: Finding[] }> {
  const options = { registries: engine.packages.registries() };
  const read =
    'files' in source
      ? await readPackageFiles(source.files, options)
      : await readNodePackage(source.packageDir, options);
  if (read.ok) return read;
  const { findings } = read;
  const what = 'files' in source ? 'This' : source.packageDir;
  throw new GloveboxError('PACKAGE_INVALID', {
    ...fromFindings(findings),
    ...(findings.length > 1 ? { message: `${what} is not a valid node package: ${findings.length} findings.` } : {}),
  });
}

async function checkPackage(judge: ValueJudge, pkg: NodePackage, values: RunValues): Promise<void> {
  const schemas = await judge.checkSchemas();
  if (schemas.length > 0) throw new GloveboxError('PACKAGE_INVALID', fromFindings(locateFindings(pkg.files, schemas)));
  await requireFitting(judge, values);
}
