import { createHash } from 'node:crypto';
import { permissionsDigest, signReceipt } from '@glovebox/artifact';
import { planHash, planRunCell } from '@glovebox/cell';
import {
  type AttemptState,
  type ErrorData,
  type FileRecord,
  type Finding,
  GloveboxError,
  type Json,
  type LogRecord,
  newAttemptId,
  newRunId,
  type Peaks,
  type PhasesMs,
  type Progress,
  parseJson,
  type ReceiptPredicate,
  type RunLimits,
  runLimits,
} from '@glovebox/contract';
import { locateFindings, openJudge, readNodePackage, type ValueJudge } from '@glovebox/validate';
import { type AttemptReport, runAttempt } from './attempt/run-attempt.ts';
import { buildNode } from './build-node.ts';
import type { Engine } from './engine.ts';
import { fromFindings } from './finding-error.ts';
import { ownIdentity } from './host.ts';
import type { NodePackage } from './ports.ts';
import type { Attempt, AttemptEnd, GuestErrorData, RunRecord } from './records.ts';

/** Input and config as JSON text. Bytes of UTF-8, and levels of nesting. */
export const valueLimits = { maxBytes: 16 * 1024 * 1024, maxDepth: 128 } as const;

export interface TrialRequest {
  project: string;
  actor: string;
  packageDir: string;
  inputText: string;
  configText: string;
}

export interface TrialEvents {
  onStep?: (
    step: 'read' | 'check' | 'restore' | 'bundle' | 'boot' | 'load' | 'run' | 'teardown',
    detail?: string,
  ) => void;
  /** What is odd about the package or its build, and hinders nothing. */
  onWarning?: (finding: Finding) => void;
  onRun?: (ids: { run: string; attempt: string }) => void;
  onLog?: (record: LogRecord) => void;
  onProgress?: (progress: Progress) => void;
}

export interface TrialResult {
  run: string;
  attempt: string;
  state: AttemptState;
  output: Json | null;
  error: ErrorData | GuestErrorData | null;
  /** Digest of the bundle that ran. */
  digest: string;
  receiptDigest: string;
  phasesMs: PhasesMs;
  peaks: Peaks;
  node: { id: string; version: string; revision: string };
  files: FileRecord[];
  limits: RunLimits;
  egressRequests: number;
}

/**
 * Run a node package once, as it lies on disk, in a fresh cell: read it in one snapshot, check the values against its
 * schemas, bundle it in a builder cell, run it, check what it gave, and sign a receipt.
 *
 * Nothing is recorded, and no run cell boots, unless package, input and config are fine and the bundle was made.
 *
 * @throws GloveboxError `PACKAGE_INVALID` and `BUILD_FAILED` with the findings as details, `INPUT_NOT_JSON`,
 *   `INPUT_INVALID`, `CONFIG_VALUE_INVALID`, `INTERRUPTED`, and what hosts, stores and registries may lack. What the node
 *   itself does wrong is in the result.
 */
export async function runTrial(
  engine: Engine,
  request: TrialRequest,
  events: TrialEvents = {},
  signal?: AbortSignal,
): Promise<TrialResult> {
  const acceptedAt = engine.monotonicMs();
  events.onStep?.('read');
  requireJson('input', request.inputText, 'INPUT_NOT_JSON');
  requireJson('config', request.configText, 'INPUT_NOT_JSON');
  const { pkg, warnings } = await readPackage(engine, request.packageDir);
  const image = await engine.images.current('runtime');
  const judge = openJudge({ input: pkg.manifest.input, config: pkg.manifest.config, output: pkg.manifest.output });
  try {
    events.onStep?.('check');
    const [, built] = await both(checkValues(judge, pkg, request), buildNode(engine, pkg, events, signal));
    for (const warning of [...warnings, ...built.warnings]) events.onWarning?.(warning);
    const limits = runLimits(pkg.manifest);
    const plan = planRunCell(image.digest as Parameters<typeof planRunCell>[0], limits);
    const { run, attempt } = describeRun(engine, request, pkg, limits);
    await engine.store.create(run, attempt);
    events.onRun?.({ run: run.id, attempt: attempt.id });
    const logs = new LogWriter(engine, attempt.id);
    const queueMs = Math.round((engine.monotonicMs() - acceptedAt) * 100) / 100;
    try {
      await engine.store.begin(attempt.id, engine.now());
      const report = await runAttempt(
        {
          plan,
          valueTexts: { input: request.inputText, config: request.configText },
          bundle: built.bundle,
          cpu: limits.cpu,
          timeoutMs: limits.timeoutMs,
          job: {
            ids: { project: run.project, run: run.id, attempt: attempt.id, node: run.node.id, correlation: run.id },
            nowMs: 0,
            timeoutMs: limits.timeoutMs,
            bundle: { digest: built.bundleDigest, sizeBytes: built.bundle.byteLength },
            limits: {
              outputBytes: limits.outputBytes,
              logBytes: limits.logBytes,
              filesBytes: limits.filesBytes,
              filesCount: limits.filesCount,
              scratchBytes: limits.scratchBytes,
            },
            idempotencyKey: attempt.id,
            input: JSON.parse(request.inputText) as Json,
            config: JSON.parse(request.configText) as Json,
          },
        },
        engine,
        {
          onPhase: (phase) => events.onStep?.(phase),
          onLog: (record) => {
            logs.add(record);
            events.onLog?.(record);
          },
          ...(events.onProgress ? { onProgress: events.onProgress } : {}),
        },
        signal,
      );
      await judgeOutput(judge, report, built.sourceMap);
      const predicate = receiptOf({
        engine,
        request,
        pkg,
        limits,
        run,
        attempt,
        report,
        built,
        plan,
        image: image.digest,
        queueMs,
      });
      const receipt = await signReceipt(predicate, engine.signer);
      await logs.flush();
      const phasesMs = predicate.observed.phasesMs;
      const end: AttemptEnd = {
        state: report.state,
        endedAtMs: report.endedAtMs,
        error: report.error,
        outputText: report.outputText,
        bundleDigest: built.bundleDigest,
        imageDigest: image.digest,
        phasesMs,
        peaks: report.peaks,
        files: report.files,
        logBytes: report.logBytes,
        logTruncated: report.logTruncated,
        receiptText: receipt.envelopeText,
        receiptDigest: receipt.digest,
      };
      if ((await engine.store.finish(attempt.id, end)) === 'stale') {
        throw new GloveboxError('INTERNAL', {
          message: `attempt ${attempt.id} was ended by another process while it ran here`,
        });
      }
      return {
        run: run.id,
        attempt: attempt.id,
        state: report.state,
        output: report.outputText === null ? null : (JSON.parse(report.outputText) as Json),
        error: report.error,
        digest: built.bundleDigest,
        receiptDigest: receipt.digest,
        phasesMs,
        peaks: report.peaks,
        node: { id: run.node.id, version: run.node.version, revision: pkg.revision },
        files: report.files,
        limits,
        egressRequests: report.egressRequests,
      };
    } catch (error) {
      // Whatever failed, an attempt that is recorded comes to an end in the record. What failed first is told.
      await logs.flush().catch(() => undefined);
      await engine.store.finish(attempt.id, neverRan(engine, error, queueMs)).catch(() => undefined);
      throw error;
    }
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

async function readPackage(engine: Engine, dir: string): Promise<{ pkg: NodePackage; warnings: Finding[] }> {
  const read = await readNodePackage(dir, { registries: engine.packages.registries() });
  if (read.ok) return read;
  const { findings } = read;
  throw new GloveboxError('PACKAGE_INVALID', {
    ...fromFindings(findings),
    ...(findings.length > 1 ? { message: `${dir} is not a valid node package: ${findings.length} findings.` } : {}),
  });
}

function requireJson(what: 'input' | 'config', text: string, code: 'INPUT_NOT_JSON'): void {
  const parsed = parseJson(text, valueLimits);
  if (!parsed.ok)
    throw new GloveboxError(code, {
      message: `The ${what} is not usable JSON: ${parsed.detail}.`,
      place: { path: `/${what}` },
    });
}

async function checkValues(judge: ValueJudge, pkg: NodePackage, request: TrialRequest): Promise<void> {
  const schemas = await judge.checkSchemas();
  if (schemas.length > 0) throw new GloveboxError('PACKAGE_INVALID', fromFindings(locateFindings(pkg.files, schemas)));
  for (const which of ['input', 'config'] as const) {
    const findings = await judge.check(which, which === 'input' ? request.inputText : request.configText);
    if (findings.length > 0)
      throw new GloveboxError(which === 'input' ? 'INPUT_INVALID' : 'CONFIG_VALUE_INVALID', fromFindings(findings));
  }
}

/** What the node gave is parsed and checked where it can hurt nobody; a refused output is no output. */
async function judgeOutput(judge: ValueJudge, report: AttemptReport, sourceMap: Uint8Array): Promise<void> {
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

function describeRun(
  engine: Engine,
  request: TrialRequest,
  pkg: NodePackage,
  limits: RunLimits,
): { run: RunRecord; attempt: Attempt } {
  const createdAtMs = engine.now();
  const runId = newRunId(createdAtMs);
  const run: RunRecord = {
    id: runId,
    project: request.project,
    mode: 'trial',
    release: null,
    actor: request.actor,
    node: { id: pkg.manifest.id, version: pkg.version, revision: pkg.revision, title: pkg.manifest.title },
    createdAtMs,
    inputText: request.inputText,
    configText: request.configText,
    limits,
    capabilities: pkg.manifest.capabilities as Json,
  };
  const attempt: Attempt = {
    id: newAttemptId(createdAtMs),
    run: runId,
    number: 1,
    state: 'QUEUED',
    owner: ownIdentity(engine.signer.instance),
    createdAtMs,
    startedAtMs: null,
    end: null,
  };
  return { run, attempt };
}

function neverRan(engine: Engine, error: unknown, queueMs: number): AttemptEnd {
  const data: ErrorData =
    error instanceof GloveboxError ? error.toData() : { code: 'INTERNAL', message: String(error) };
  return {
    state: 'LOST',
    endedAtMs: engine.now(),
    error: data,
    outputText: null,
    bundleDigest: null,
    imageDigest: null,
    phasesMs: { queue: queueMs, boot: 0, load: 0, run: 0, teardown: 0 },
    peaks: { memoryBytes: null, pids: null, outputBytes: 0 },
    files: [],
    logBytes: 0,
    logTruncated: false,
    receiptText: null,
    receiptDigest: null,
  };
}

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

function receiptOf(x: {
  engine: Engine;
  request: TrialRequest;
  pkg: NodePackage;
  limits: RunLimits;
  run: RunRecord;
  attempt: Attempt;
  report: AttemptReport;
  built: { bundleDigest: string };
  plan: Parameters<typeof planHash>[0];
  image: string;
  queueMs: number;
}): ReceiptPredicate {
  const { engine, request, pkg, run, attempt, report } = x;
  const claimed = report.claimed ? report.error : null;
  return {
    attempt: attempt.id,
    run: run.id,
    instance: engine.signer.instance,
    project: run.project,
    actor: request.actor,
    mode: 'trial',
    node: {
      id: run.node.id,
      version: run.node.version,
      revision: pkg.revision,
      bundle: x.built.bundleDigest,
      release: null,
    },
    observed: {
      // What the node says of itself is under `claimed`.
      ...report.observed,
      startedAt: new Date(report.startedAtMs).toISOString(),
      endedAt: new Date(report.endedAtMs).toISOString(),
      phasesMs: { queue: x.queueMs, ...report.phasesMs },
      image: x.image,
      plan: planHash(x.plan),
      class: x.plan.class,
      driver: { name: report.facts.driver, runtime: report.facts.runtime, version: report.facts.runtimeVersion },
      properties: report.facts.properties,
      acceptedRisks: [],
      permissions: permissionsDigest(pkg.manifest),
      limits: { ...x.limits },
      peaks: report.peaks,
      exit: report.end.exit,
      inputDigest: sha256(request.inputText),
      configDigest: sha256(request.configText),
      outputDigest: report.outputText === null ? null : sha256(report.outputText),
      logBytes: report.logBytes,
      logDigest: report.logDigest,
      files: report.files,
      egress: { requests: report.egressRequests, decisions: [] },
      slots: [],
    },
    claimed: { errorCode: claimed?.code ?? null, errorMessage: claimed?.message.slice(0, 1000) ?? null },
  };
}

/** Most records of a batch: to hand over a hundred thousand at once would take the event loop a while. */
const logBatch = 1000;

/** Writes log records in batches and in order. A failed write is told at the next flush. */
class LogWriter {
  readonly #engine: Engine;
  readonly #attempt: string;
  #pending: LogRecord[] = [];
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(engine: Engine, attempt: string) {
    this.#engine = engine;
    this.#attempt = attempt;
  }

  add(record: LogRecord): void {
    this.#pending.push(record);
    if (this.#pending.length >= logBatch) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), 100);
  }

  async flush(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#pending;
    this.#pending = [];
    if (batch.length === 0) return;
    this.#writing = this.#writing.then(() => this.#engine.store.appendLogs(this.#attempt, batch));
    // Whoever flushes is told; until then nobody need listen.
    this.#writing.catch(() => undefined);
  }
}
