import type { Cell, CellDriver, CellEnd, CellFacts } from '@glovebox/cell';
import { serveChannel } from '@glovebox/channel';
import {
  type CellPlan,
  cancelGraceMs,
  type FileRecord,
  GloveboxError,
  type Job,
  type LogRecord,
  newCellId,
  type Peaks,
  type PhasesMs,
  type Progress,
} from '@glovebox/contract';
import type { Egress, EgressSession, EgressSummary, SessionOptions } from '@glovebox/egress';
import type { BlobStore } from '../ports.ts';
import { type CellResult, ControlPlane, type ValueTexts, type Violation } from './control-plane.ts';
import { LogIntake } from './log-intake.ts';
import { decideOutcome, type Outcome } from './outcome.ts';

/** A cell of ours asks for its job within this, or it did not come up. */
const bootDeadlineMs = 20_000;
/** A process that lost its channel is dead within this, or it is none that is dying. */
const closedGraceMs = 2_000;
const closedItsChannel: Violation = { code: 'CHANNEL_CORRUPTED', detail: 'the cell closed its channel' };

export interface AttemptRequest {
  plan: CellPlan;
  /** The job but for what is known only at dispatch. */
  job: Job;
  /** The job's values as JSON texts that were checked to be such; see ControlPlaneOptions. */
  valueTexts?: ValueTexts;
  bundle: Uint8Array;
  /** What the node may ask for, under which policy of its project, and where that is recorded. */
  egress: Pick<SessionOptions, 'grant' | 'policy' | 'record'>;
  cpu: number;
  timeoutMs: number;
}

export interface AttemptPorts {
  driver: CellDriver;
  blobs: BlobStore;
  egress: Egress;
  now: () => number;
  /** Milliseconds of a clock that never jumps. */
  monotonicMs: () => number;
  /** Milliseconds since boot, suspended time included. */
  bootMs: () => number;
}

export interface AttemptEvents {
  onPhase?: (phase: 'boot' | 'load' | 'run' | 'teardown') => void;
  onLog?: (record: LogRecord) => void;
  onProgress?: (progress: Progress) => void;
}

export interface AttemptReport extends Outcome {
  facts: CellFacts;
  end: CellEnd;
  phasesMs: Omit<PhasesMs, 'queue'>;
  peaks: Peaks;
  files: FileRecord[];
  logBytes: number;
  logTruncated: boolean;
  logDigest: string;
  egressRequests: number;
  /** What came of them, the commonest first. */
  egressDecisions: EgressSummary['decisions'];
  startedAtMs: number;
  endedAtMs: number;
}

/**
 * One attempt: boot a fresh cell, hand it its job, take what it says, and see it dead.
 *
 * Resolves only when every process of the cell is confirmed dead and no trace of it is left, however the attempt ends, or
 * as `LOST` where the driver gives that up, whatever the cell gave or did; an aborted `signal` tells the node first and
 * kills it `cancelGraceMs` later.
 *
 * @throws GloveboxError as CellDriver.boot does, `CELL_BOOT_FAILED` when the harness does not ask for its job, as Egress.open
 *   does, and what `egress.record` failed with: then nobody can say what left.
 */
export async function runAttempt(
  request: AttemptRequest,
  ports: AttemptPorts,
  events: AttemptEvents = {},
  signal?: AbortSignal,
): Promise<AttemptReport> {
  const marks = new PhaseMarks(ports.monotonicMs);
  const startedAtMs = ports.now();
  events.onPhase?.('boot');
  const cell = await ports.driver.boot(request.plan, newCellId());
  const attempt = new LiveAttempt(cell, request, ports, events, marks);
  const cancel = (): void => attempt.cancel(cancelReason(signal));
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    const { outcome, end } = await attempt.settle();
    return {
      ...outcome,
      facts: cell.facts,
      end,
      phasesMs: marks.phases(),
      peaks: {
        memoryBytes: end.peakMemoryBytes,
        pids: end.peakPids,
        outputBytes: outcome.outputText === null ? 0 : Buffer.byteLength(outcome.outputText),
      },
      files: attempt.control.files,
      logBytes: attempt.logs.keptBytes,
      logTruncated: attempt.logs.truncated,
      logDigest: attempt.logs.digest(),
      egressRequests: attempt.egress.requests,
      egressDecisions: attempt.egress.decisions,
      startedAtMs,
      endedAtMs: ports.now(),
    };
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

function cancelReason(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason;
  return typeof reason === 'string' ? reason : 'cancelled';
}

class LiveAttempt {
  readonly control: ControlPlane;
  readonly logs: LogIntake;
  readonly #cell: Cell;
  readonly #request: AttemptRequest;
  readonly #ports: AttemptPorts;
  readonly #events: AttemptEvents;
  readonly #marks: PhaseMarks;
  #violation: Violation | undefined;
  #result: CellResult | undefined;
  #cancelled: string | undefined;
  #dispatched = false;
  /** From the dispatch on. */
  #session: EgressSession | undefined;
  /** Why there is none. */
  #sessionFailure: unknown;
  /** The cell is confirmed dead: nothing that comes to light later is part of the attempt. */
  #dead = false;
  /** Killed because it lived on without a channel. */
  #orphaned = false;
  #graceTimer: NodeJS.Timeout | undefined;
  #bootTimer: NodeJS.Timeout | undefined;
  #closedTimer: NodeJS.Timeout | undefined;

  constructor(cell: Cell, request: AttemptRequest, ports: AttemptPorts, events: AttemptEvents, marks: PhaseMarks) {
    this.#cell = cell;
    this.#request = request;
    this.#ports = ports;
    this.#events = events;
    this.#marks = marks;
    this.logs = new LogIntake({
      limitBytes: request.job.limits.logBytes,
      now: ports.now,
      onRecord: (record) => events.onLog?.(record),
      onViolation: (violation) => this.#violate(violation),
    });
    this.control = new ControlPlane({
      job: request.job,
      ...(request.valueTexts === undefined ? {} : { valueTexts: request.valueTexts }),
      bundle: request.bundle,
      blobs: ports.blobs,
      logs: this.logs,
      onJobRequested: () => void this.#dispatch(),
      onLoaded: () => {
        marks.mark('loaded');
        events.onPhase?.('run');
      },
      onProgress: (progress) => events.onProgress?.(progress),
      onResult: (result) => this.#take(result),
      onViolation: (violation) => this.#violate(violation),
    });
  }

  get egress(): EgressSummary {
    return this.#session?.summary ?? { requests: 0, decisions: [] };
  }

  cancel(reason: string): void {
    // What is dead, has given its result, or broken a rule, has ended by that already.
    if (this.#dead || this.#cancelled !== undefined || this.#result !== undefined || this.#violation !== undefined)
      return;
    this.#cancelled = reason;
    this.control.cancel(reason);
    // A cell that has no job yet has nothing to wind up.
    this.#graceTimer = setTimeout(() => this.#kill('cancelled'), this.#dispatched ? cancelGraceMs : 0);
  }

  async settle(): Promise<{ outcome: Outcome; end: CellEnd }> {
    const channel = serveChannel(this.#cell.channel, (stream) => this.control.accept(stream));
    const drained = Promise.all([
      this.logs.takeRaw('stdout', this.#cell.stdout),
      this.logs.takeRaw('stderr', this.#cell.stderr),
    ]);
    this.#bootTimer = setTimeout(() => {
      if (!this.#dispatched) this.#kill('violation');
    }, bootDeadlineMs);
    void channel.ended.then((ended) => {
      // Closed by ourselves: a timer from here on would outlive the attempt.
      if (this.#dead) return;
      if (ended.kind === 'abuse') this.#violate({ code: 'CHANNEL_ABUSE', detail: `${ended.rule}: ${ended.detail}` });
      if (ended.kind === 'corrupted') this.#violate({ code: 'CHANNEL_CORRUPTED', detail: ended.detail });
      if (this.#result === undefined) this.#marks.mark('over');
      // A dying process loses its channel first, and what the kernel says of its death is the better evidence, however
      // long its remains take to be removed. One that lives on has closed its channel itself, and can only burn.
      this.#closedTimer = setTimeout(() => {
        this.#orphaned = true;
        this.#kill('violation');
      }, closedGraceMs);
    });
    const end = await this.#cell.ended;
    this.#dead = true;
    clearTimeout(this.#graceTimer);
    clearTimeout(this.#closedTimer);
    clearTimeout(this.#bootTimer);
    this.#marks.mark('over');
    this.control.end();
    await drained;
    channel.close();
    // Uploads that were cut off remove what they had written: nobody would look for it once this process has ended.
    await this.control.stored();
    this.#marks.mark('dead');
    if (this.#sessionFailure !== undefined) throw this.#sessionFailure;
    // What left and is not on record fails the attempt, whatever its node made of it.
    await this.#session?.settled();
    if (!this.#dispatched && this.#cancelled === undefined) throw bootFailure(end, this.logs.stderrTail);
    const orphaned = this.#orphaned && end.cause === 'violation' ? closedItsChannel : undefined;
    const outcome = decideOutcome({
      violation: this.#violation ?? orphaned,
      result: this.#result,
      cancelled: this.#cancelled,
      end,
      stderrTail: this.logs.stderrTail,
      timeoutMs: this.#request.timeoutMs,
    });
    return { outcome, end };
  }

  async #dispatch(): Promise<void> {
    if (this.#cancelled !== undefined) return;
    try {
      this.#marks.mark('booted');
      this.#events.onPhase?.('load');
      const session = this.#openSession();
      if (session === undefined) return this.#kill('violation');
      await this.#cell.dispatch({ cpu: this.#request.cpu, deadlineMs: this.#request.timeoutMs });
      this.#dispatched = true;
      this.control.dispatch(this.#ports.now(), this.#request.timeoutMs, session);
    } catch {
      // The cell died first, or its limits could not be set: either way it must not go on.
      this.#kill('violation');
    }
  }

  /** Its deadline is that of the cell, counted from before the cell's own begins. Without a session nothing is dispatched. */
  #openSession(): EgressSession | undefined {
    const { egress, job, timeoutMs } = this.#request;
    const { project, run, attempt, node } = job.ids;
    const { bootMs, now } = this.#ports;
    try {
      this.#session = this.#ports.egress.open({
        ...egress,
        project,
        run,
        attempt,
        node,
        deadlineAtBootMs: bootMs() + timeoutMs,
        bootMs,
        now,
        onAbuse: (detail) => this.#violate({ code: 'CHANNEL_ABUSE', detail }),
      });
      return this.#session;
    } catch (error) {
      this.#sessionFailure = error;
      return undefined;
    }
  }

  /** In this order: a cell that is long in dying, or does not die at all, must reach nobody meanwhile. */
  #kill(cause: Parameters<Cell['kill']>[0]): void {
    this.#session?.end();
    this.#cell.kill(cause);
  }

  #take(result: CellResult): void {
    if (this.#dead || this.#result !== undefined || this.#violation !== undefined) return;
    this.#result = result;
    this.#over();
    this.#kill('done');
  }

  #violate(violation: Violation): void {
    if (this.#dead || this.#violation !== undefined || this.#result !== undefined) return;
    this.#violation = violation;
    this.#over();
    this.#kill('violation');
  }

  #over(): void {
    this.#marks.mark('over');
    this.control.end();
    this.#events.onPhase?.('teardown');
  }
}

function bootFailure(end: CellEnd, stderrTail: string): GloveboxError {
  if (end.error) return new GloveboxError(end.error.code, end.error);
  const said = stderrTail.trim().split('\n').slice(-3).join(' ');
  return new GloveboxError('CELL_BOOT_FAILED', {
    message: `The cell ended (${end.cause}) before it asked for its job${said === '' ? '.' : `: ${said}`}`,
  });
}

/** Moments of one attempt on a clock that never jumps. Each is set once. */
class PhaseMarks {
  readonly #now: () => number;
  readonly #at = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
    this.mark('start');
  }

  mark(name: 'start' | 'booted' | 'loaded' | 'over' | 'dead'): void {
    if (!this.#at.has(name)) this.#at.set(name, this.#now());
  }

  phases(): Omit<PhasesMs, 'queue'> {
    const start = this.#at.get('start') ?? 0;
    const over = this.#at.get('over') ?? start;
    const booted = this.#at.get('booted') ?? over;
    const loaded = this.#at.get('loaded') ?? over;
    const dead = this.#at.get('dead') ?? over;
    const between = (from: number, to: number): number => Math.round(Math.max(0, to - from) * 100) / 100;
    return {
      boot: between(start, booted),
      load: between(booted, loaded),
      run: between(loaded, over),
      teardown: between(over, dead),
    };
  }
}
