import { permissionsDigest, sha256Of } from '@glovebox/artifact';
import { planHash } from '@glovebox/cell';
import type { CellPlan, InstanceId, Manifest, ReceiptPredicate, RunLimits } from '@glovebox/contract';
import type { RunRecord } from '../records.ts';
import type { AttemptReport } from './run-attempt.ts';

export interface ReceiptFacts {
  instance: InstanceId;
  run: RunRecord;
  attemptId: string;
  manifest: Manifest;
  limits: RunLimits;
  bundleDigest: string;
  plan: CellPlan;
  report: AttemptReport;
  /** Of the project, as it was when the attempt began; undefined where the manifest declares no http. */
  egressPolicy: { revision: number; digest: string } | undefined;
  /** Who answered what the node asked, where it was not the network. */
  egressSource: 'cassette' | undefined;
  /** From acceptance to the start of the boot. */
  queueMs: number;
}

/** What the receipt of an attempt says: what the host saw of it, and under `claimed` what the node says of itself. */
export function receiptOf(facts: ReceiptFacts): ReceiptPredicate {
  const { run, report, plan } = facts;
  const claimed = report.claimed ? report.error : null;
  return {
    attempt: facts.attemptId,
    run: run.id,
    instance: facts.instance,
    project: run.project,
    actor: run.actor,
    mode: run.mode,
    node: {
      id: run.node.id,
      version: run.node.version,
      revision: run.node.revision,
      bundle: facts.bundleDigest,
      release: run.release,
    },
    observed: {
      ...report.observed,
      startedAt: new Date(report.startedAtMs).toISOString(),
      endedAt: new Date(report.endedAtMs).toISOString(),
      phasesMs: { queue: facts.queueMs, ...report.phasesMs },
      image: plan.image,
      plan: planHash(plan),
      class: plan.class,
      driver: { name: report.facts.driver, runtime: report.facts.runtime, version: report.facts.runtimeVersion },
      properties: report.facts.properties,
      acceptedRisks: report.facts.acceptedRisks,
      permissions: permissionsDigest(facts.manifest),
      limits: { ...facts.limits },
      peaks: report.peaks,
      exit: report.end.exit,
      inputDigest: sha256Of(run.inputText),
      configDigest: sha256Of(run.configText),
      outputDigest: report.outputText === null ? null : sha256Of(report.outputText),
      logBytes: report.logBytes,
      logDigest: report.logDigest,
      files: report.files,
      egress: {
        requests: report.egressRequests,
        decisions: [...report.egressDecisions],
        ...(facts.egressPolicy === undefined ? {} : { policy: facts.egressPolicy }),
        ...(facts.egressSource === undefined ? {} : { source: facts.egressSource }),
      },
      slots: [],
    },
    claimed: { errorCode: claimed?.code ?? null, errorMessage: claimed?.message.slice(0, 1000) ?? null },
  };
}
