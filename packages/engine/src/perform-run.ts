import { signReceipt } from '@glovebox/artifact';
import { planRunCell } from '@glovebox/cell';
import {
  type AttemptState,
  type Digest,
  defaultEgressPolicy,
  type EgressTally,
  type ErrorData,
  type FileRecord,
  GloveboxError,
  type Job,
  type Json,
  type LogRecord,
  type Manifest,
  newAttemptId,
  newRunId,
  type Peaks,
  type PhasesMs,
  type Progress,
  type RunLimits,
  runLimits,
} from '@glovebox/contract';
import type { SessionOptions } from '@glovebox/egress';
import type { ValueJudge } from '@glovebox/validate';
import { endOf, neverRan } from './attempt/attempt-end.ts';
import { type ReceiptFacts, receiptOf } from './attempt/attempt-receipt.ts';
import { EgressLogWriter } from './attempt/egress-log-writer.ts';
import { httpGrant } from './attempt/http-grant.ts';
import { LogWriter } from './attempt/log-writer.ts';
import { type AttemptReport, runAttempt } from './attempt/run-attempt.ts';
import { checkpointWhenDue } from './audit/checkpoint-audit.ts';
import { policyDigest } from './egress/show-egress-policy.ts';
import type { Engine } from './engine.ts';
import { ownIdentity } from './host.ts';
import type { Attempt, AttemptEnd, GuestErrorData, RunRecord } from './records.ts';
import { judgeOutput, type RunValues } from './run-values.ts';

/** A run of which all is known and checked: package or artifact, image, input and config. */
export interface PreparedRun extends RunValues, Pick<RunRecord, 'project' | 'actor' | 'mode' | 'release'> {
  manifest: Manifest;
  version: string;
  revision: string;
  bundle: Uint8Array;
  bundleDigest: string;
  sourceMap: Uint8Array;
  /** Digest of the runtime image. */
  image: string;
  /** Over the schemas of the manifest. The caller closes it. */
  judge: ValueJudge;
  /** When the run was asked for, by the engine's monotonic clock. */
  acceptedAtMs: number;
}

/** What a run tells while it goes on. Steps come in this order; those that a run has no need of are left out. */
export interface RunEvents {
  onStep?: (
    step: 'read' | 'resolve' | 'image' | 'check' | 'restore' | 'bundle' | 'boot' | 'load' | 'run' | 'teardown',
    detail?: string,
  ) => void;
  onRun?: (ids: { run: string; attempt: string }) => void;
  onLog?: (record: LogRecord) => void;
  onProgress?: (progress: Progress) => void;
}

export interface RunResult {
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
  /** What came of them, as the receipt tells it. */
  egressDecisions: EgressTally[];
}

/**
 * What every run is, trial or by reference: record it, boot a fresh cell with the limits of the manifest, hand it bundle
 * and values, judge what it gave, sign a receipt, and close the record.
 *
 * A run that is recorded comes to an end in the record, whatever fails here.
 *
 * @throws GloveboxError as runAttempt does, and what stores may lack. What the node itself does wrong is in the result.
 */
export async function performRun(
  engine: Engine,
  prepared: PreparedRun,
  events: RunEvents,
  signal: AbortSignal | undefined,
): Promise<RunResult> {
  const limits = runLimits(prepared.manifest);
  const plan = planRunCell(prepared.image as Digest, limits, engine.cellClass);
  const { run, attempt } = describeRun(engine, prepared, limits);
  await engine.store.create(run, attempt);
  events.onRun?.({ run: run.id, attempt: attempt.id });
  const logs = new LogWriter(engine.store, attempt.id);
  const egressLog = new EgressLogWriter(engine.egressLog, run.project);
  const queueMs = Math.round((engine.monotonicMs() - prepared.acceptedAtMs) * 100) / 100;
  try {
    if ((await engine.store.begin(attempt.id, engine.now())) === 'stale') throw endedElsewhere(attempt);
    const held = await egressOf(engine, prepared);
    const report = await runAttempt(
      {
        plan,
        valueTexts: { input: prepared.inputText, config: prepared.configText },
        bundle: prepared.bundle,
        egress: { grant: held.grant, policy: held.policy, record: (record) => egressLog.record(record) },
        cpu: limits.cpu,
        timeoutMs: limits.timeoutMs,
        job: jobOf(prepared, run, attempt, limits),
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
    await judgeOutput(prepared.judge, report, prepared.sourceMap);
    const { manifest, bundleDigest } = prepared;
    const predicate = receiptOf({
      instance: engine.signer.instance,
      run,
      attemptId: attempt.id,
      manifest,
      limits,
      bundleDigest,
      plan,
      report,
      egressPolicy: held.revision,
      egressSource: engine.egress.source,
      queueMs,
    });
    const receipt = await signReceipt(predicate, engine.signer);
    await logs.flush();
    await egressLog.flush();
    const { phasesMs } = predicate.observed;
    const end = endOf(report, { bundleDigest, imageDigest: plan.image, phasesMs, receipt });
    if ((await engine.store.finish(attempt.id, end)) === 'stale') {
      throw endedElsewhere(attempt);
    }
    // The run is over and recorded; what is wrong with the audit chain is for those to hear who verify it.
    await checkpointWhenDue(engine).catch(() => undefined);
    return resultOf(run, attempt, end, report);
  } catch (error) {
    // Whatever failed, an attempt that is recorded comes to an end in the record. What failed first is told.
    await logs.flush().catch(() => undefined);
    await egressLog.flush().catch(() => undefined);
    await engine.store.finish(attempt.id, neverRan(error, engine.now(), queueMs)).catch(() => undefined);
    throw error;
  }
}

/** The project's policy as it is when the attempt starts. A node without http is denied everything under any. */
async function egressOf(
  { egressPolicies }: Engine,
  { project, manifest }: PreparedRun,
): Promise<Pick<SessionOptions, 'grant' | 'policy'> & { revision: ReceiptFacts['egressPolicy'] }> {
  const grant = httpGrant(manifest);
  if (grant === undefined) return { grant, policy: defaultEgressPolicy, revision: undefined };
  const { policy, revision } = await egressPolicies.get(project);
  return { grant, policy, revision: { revision, digest: policyDigest(policy) } };
}

const endedElsewhere = ({ id }: Attempt): GloveboxError =>
  new GloveboxError('INTERNAL', { message: `attempt ${id} was ended by another process while it ran here` });

function describeRun(engine: Engine, prepared: PreparedRun, limits: RunLimits): { run: RunRecord; attempt: Attempt } {
  const { project, mode, release, actor, manifest, version, revision, inputText, configText } = prepared;
  const createdAtMs = engine.now();
  const run: RunRecord = {
    id: newRunId(createdAtMs),
    project,
    mode,
    release,
    actor,
    node: { id: manifest.id, version, revision, title: manifest.title },
    createdAtMs,
    inputText,
    configText,
    limits,
    capabilities: manifest.capabilities as Json,
  };
  const attempt: Attempt = {
    id: newAttemptId(createdAtMs),
    run: run.id,
    number: 1,
    state: 'QUEUED',
    owner: ownIdentity(engine.signer.instance),
    createdAtMs,
    startedAtMs: null,
    end: null,
  };
  return { run, attempt };
}

function jobOf(prepared: PreparedRun, run: RunRecord, attempt: Attempt, limits: RunLimits): Job {
  return {
    ids: { project: run.project, run: run.id, attempt: attempt.id, node: run.node.id, correlation: run.id },
    nowMs: 0,
    timeoutMs: limits.timeoutMs,
    bundle: { digest: prepared.bundleDigest, sizeBytes: prepared.bundle.byteLength },
    limits: {
      outputBytes: limits.outputBytes,
      logBytes: limits.logBytes,
      filesBytes: limits.filesBytes,
      filesCount: limits.filesCount,
      scratchBytes: limits.scratchBytes,
    },
    http: prepared.manifest.capabilities.http !== undefined,
    // Another attempt of the run asks for the same effects.
    idempotencyKey: run.id,
    input: JSON.parse(run.inputText) as Json,
    config: JSON.parse(run.configText) as Json,
  };
}

function resultOf(run: RunRecord, attempt: Attempt, end: AttemptEnd, report: AttemptReport): RunResult {
  const { id, version, revision } = run.node;
  return {
    run: run.id,
    attempt: attempt.id,
    state: end.state,
    output: end.outputText === null ? null : (JSON.parse(end.outputText) as Json),
    error: end.error,
    digest: end.bundleDigest as string,
    receiptDigest: end.receiptDigest as string,
    phasesMs: end.phasesMs,
    peaks: end.peaks,
    node: { id, version, revision },
    files: end.files,
    limits: run.limits,
    egressRequests: report.egressRequests,
    egressDecisions: [...report.egressDecisions],
  };
}
