import { planRunCell } from '@glovebox/cell';
import {
  type CellClass,
  type Digest,
  defaultEgressPolicy,
  type Job,
  newAttemptId,
  newRunId,
  type RunLimits,
  runLimits,
} from '@glovebox/contract';
import type { HttpGrant } from '@glovebox/egress';
import {
  type AttemptEvents,
  type AttemptPorts,
  type AttemptReport,
  buildNode,
  type Engine,
  runAttempt,
} from '@glovebox/engine';
import { readNodePackage } from '@glovebox/validate';

/** A node of `bench/nodes` as it runs: its bundle, and the image that it runs on. */
export interface BuiltNode {
  bundle: Uint8Array;
  digest: string;
  limits: RunLimits;
  image: Digest;
}

export async function build(engine: Engine, dir: string): Promise<BuiltNode> {
  const read = await readNodePackage(dir);
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  const built = await buildNode(engine, read.pkg);
  const { digest } = await engine.images.current('runtime');
  return {
    bundle: built.bundle,
    digest: built.bundleDigest,
    limits: runLimits(read.pkg.manifest),
    image: digest as Digest,
  };
}

export interface AttemptOptions {
  cellClass?: CellClass;
  /** What the node may ask for; without it, it is one that declares no http. */
  grant?: HttpGrant;
  events?: AttemptEvents;
  signal?: AbortSignal;
}

/** One attempt in a fresh cell, without build, store and receipt. */
export function attempt(
  ports: AttemptPorts,
  node: BuiltNode,
  input: Job['input'],
  { cellClass = 'ns', grant, events = {}, signal }: AttemptOptions = {},
): Promise<AttemptReport> {
  const { limits } = node;
  const request = {
    plan: planRunCell(node.image, limits, cellClass),
    job: { ...jobOf(node, input), http: grant !== undefined },
    bundle: node.bundle,
    egress: { grant, policy: defaultEgressPolicy, record: async () => undefined },
    cpu: limits.cpu,
    timeoutMs: limits.timeoutMs,
  };
  return runAttempt(request, ports, events, signal);
}

/** @throws where it did not succeed. */
export function requireSuccess(report: AttemptReport): AttemptReport {
  if (report.state === 'SUCCEEDED') return report;
  throw new Error(`${report.state}: ${report.error?.message}`);
}

function jobOf({ limits, bundle, digest }: BuiltNode, input: Job['input']): Job {
  const { timeoutMs, outputBytes, logBytes, filesBytes, filesCount, scratchBytes } = limits;
  return {
    ids: { project: 'default', run: newRunId(), attempt: newAttemptId(), node: 'bench', correlation: 'bench' },
    nowMs: 0,
    timeoutMs,
    bundle: { digest, sizeBytes: bundle.byteLength },
    limits: { outputBytes, logBytes, filesBytes, filesCount, scratchBytes },
    http: false,
    idempotencyKey: 'bench',
    input,
    config: {},
  };
}
