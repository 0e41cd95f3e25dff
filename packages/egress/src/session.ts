import { GloveboxError } from '@glovebox/contract';
import type {
  CellRequest,
  Dialer,
  DialScope,
  DialTimeouts,
  Egress,
  EgressSession,
  EgressSummary,
  HttpGrant,
  Policy,
  SessionOptions,
} from './api.ts';
import { Budgets } from './budgets.ts';
import { AttemptFence } from './fence.ts';
import { compilePolicy } from './policy.ts';
import { RequestRecord } from './recording.ts';
import { RedirectTrail } from './redirects.ts';
import { admit } from './session-admission.ts';
import { Exchange, type ExchangePorts } from './session-exchange.ts';
import { DecisionTally } from './tally.ts';

/** Refusals that are answered. A node that goes on asking after so many only keeps the host busy. */
const maxRefusals = 10_000;

/** Milliseconds. Whatever they are, the deadline of the attempt bounds each request. */
const defaultTimeouts: DialTimeouts = { connect: 10_000, headers: 120_000, idle: 120_000, total: 600_000 };

/** Of an attempt whose manifest declares no http. */
const nothing: HttpGrant = { rules: [], maxRequests: 0, maxResponseBytes: 0, maxRedirects: 0 };

/**
 * Opens sessions whose requests go through this dialer.
 *
 * `open` throws GloveboxError `EGRESS_POLICY_INVALID` where the project's policy cannot be compiled; an attempt without a
 * session has no way out.
 */
export function createEgress(dialer: Pick<Dialer, 'scope'>, timeouts: DialTimeouts = defaultTimeouts): Egress {
  return { open: (options) => new Session(dialer, options, timeouts) };
}

class Session implements EgressSession {
  readonly #options: SessionOptions;
  readonly #policy: Policy;
  readonly #fence: AttemptFence;
  readonly #ports: ExchangePorts;
  readonly #tally = new DecisionTally();
  readonly #open = new Map<Exchange, Promise<void>>();
  #scope: DialScope | undefined;
  #requests = 0;
  #refusals = 0;
  /** Why a record was not kept. From then on nothing leaves. */
  #unrecorded: unknown;
  #deadlineTimer: NodeJS.Timeout | undefined;

  constructor(dialer: Pick<Dialer, 'scope'>, options: SessionOptions, timeouts: DialTimeouts) {
    const { grant, policy, deadlineAtBootMs, bootMs } = options;
    this.#options = options;
    this.#policy = compilePolicy(grant, policy);
    this.#fence = new AttemptFence(deadlineAtBootMs, bootMs);
    this.#ports = {
      options,
      fence: this.#fence,
      budgets: new Budgets(grant ?? nothing),
      trail: new RedirectTrail((grant ?? nothing).maxRedirects),
      timeouts,
      scope: () => {
        if (this.#scope === undefined) {
          // One that is made after the end would be destroyed by nobody.
          this.#fence.check();
          this.#scope = dialer.scope('node', this.#policy);
        }
        return this.#scope;
      },
      keepDecided: (record) => this.#keepDecided(record),
      keepEnded: (record) => this.#keepEnded(record),
      mayAnswerRefusal: () => this.#mayAnswerRefusal(),
    };
    this.#watchDeadline();
  }

  get summary(): EgressSummary {
    return { requests: this.#requests, decisions: this.#tally.list() };
  }

  async accept(request: CellRequest): Promise<void> {
    if (this.#fence.ended) return request.reset('ATTEMPT_ENDED');
    const { head } = request;
    const admission = admit(head, this.#open.size + 1, { ...this.#ports, policy: this.#policy });
    const arrival = { seq: ++this.#requests, method: head.method, target: admission.target };
    const exchange = new Exchange(this.#ports, request, new RequestRecord(this.#options, arrival));
    const served = exchange.serve(admission);
    this.#open.set(exchange, served);
    await served;
    this.#open.delete(exchange);
  }

  end(): void {
    this.#fence.end();
    clearTimeout(this.#deadlineTimer);
    this.#stop();
  }

  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open.values());
    if (this.#unrecorded !== undefined) throw this.#unrecorded;
  }

  #stop(): void {
    for (const exchange of this.#open.keys()) exchange.end();
    this.#scope?.destroy();
  }

  /** Nothing outlives the deadline by idling. The timer stands still while the host sleeps; the fence does not. */
  #watchDeadline(): void {
    if (!this.#fence.isOpen) {
      this.#stop();
      return;
    }
    const waitMs = Math.min(Math.ceil(this.#fence.remainingMs), maxTimerMs);
    this.#deadlineTimer = setTimeout(() => this.#watchDeadline(), waitMs);
    this.#deadlineTimer.unref();
  }

  async #keepDecided(record: RequestRecord): Promise<void> {
    await this.#keep(record);
    if (this.#unrecorded === undefined) return;
    throw new GloveboxError('EGRESS_FAILED', {
      message: 'The request cannot be recorded, so it is not made.',
      details: { reason: 'NOT_RECORDED' },
    });
  }

  async #keepEnded(record: RequestRecord): Promise<void> {
    this.#tally.add(record.snapshot());
    await this.#keep(record);
  }

  async #keep(record: RequestRecord): Promise<void> {
    try {
      await this.#options.record(record.snapshot());
    } catch (error) {
      this.#unrecorded ??= error ?? new GloveboxError('INTERNAL', { message: 'An egress record was not kept.' });
    }
  }

  #mayAnswerRefusal(): boolean {
    this.#refusals++;
    if (this.#refusals === maxRefusals + 1) this.#options.onAbuse?.('more than 10,000 requests that were refused');
    return this.#refusals <= maxRefusals;
  }
}

const maxTimerMs = 2 ** 31 - 1;
