import { GloveboxError } from '@glovebox/contract';
import { answerRefusal, type Refusal, refusalOf } from './answers.ts';
import type {
  CellRequest,
  DialProgress,
  DialRequest,
  DialResponse,
  DialScope,
  DialTimeouts,
  SessionOptions,
} from './api.ts';
import type { Budgets } from './budgets.ts';
import { type AttemptFence, attemptEnded } from './fence.ts';
import type { RequestRecord } from './recording.ts';
import type { RedirectTrail } from './redirects.ts';
import type { Admission, Admitted } from './session-admission.ts';
import { answerHeadOf, declaredBytes } from './session-answer-head.ts';
import { RequestBody } from './session-request-body.ts';
import { relaySocket } from './session-websocket.ts';
import { untilAborted } from './timeouts.ts';

/** What a request has of its session. */
export interface ExchangePorts {
  readonly options: SessionOptions;
  readonly fence: AttemptFence;
  readonly budgets: Budgets;
  readonly trail: RedirectTrail;
  readonly timeouts: DialTimeouts;
  scope(): DialScope;
  /** @throws GloveboxError `EGRESS_FAILED`, reason `NOT_RECORDED`. */
  keepDecided(record: RequestRecord): Promise<void>;
  /** Never rejects: that a record is lost is told when the session settles. */
  keepEnded(record: RequestRecord): Promise<void>;
  /** One more refusal. @returns false for one that is not even answered. */
  mayAnswerRefusal(): boolean;
}

/** One request of a cell, from its admission to its last record. */
export class Exchange {
  readonly #ports: ExchangePorts;
  readonly #request: CellRequest;
  readonly #record: RequestRecord;
  /** Ends what goes on at the other side. */
  readonly #abort = new AbortController();
  #stoppedBy: 'cell' | 'attempt' | undefined;
  #answer: 'none' | 'begun' | 'whole' = 'none';
  /** The last chunk of the answer, on its way to the cell. */
  #sending: Promise<void> = Promise.resolve();
  /** What has left is told of a request that fails as well: where to, and how often. */
  readonly #progress: DialProgress = {
    connected: (address, protocol) => this.#record.connected(address, protocol),
    // Taken one by one: what was set aside for a try that never comes would be kept from other requests.
    mayRetry: () => {
      if (this.#ports.budgets.takeRequest() === 'none-left') return false;
      this.#record.retried();
      return true;
    },
  };

  constructor(ports: ExchangePorts, request: CellRequest, record: RequestRecord) {
    this.#ports = ports;
    this.#request = request;
    this.#record = record;
  }

  /** Never throws. */
  async serve(admission: Admission): Promise<void> {
    const { signal } = this.#request;
    const stop = (): void => this.#stop('cell');
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    try {
      if (admission.kind === 'refused') return await this.#refuse(admission.refusal);
      await this.#relay(admission);
      this.#record.end({ outcome: 'done' });
      await this.#ports.keepEnded(this.#record);
    } catch (error) {
      await this.#breakOff(error);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** The attempt is over: nothing of this request goes on, on either side. */
  end(): void {
    this.#stop('attempt');
    this.#request.reset(`ATTEMPT_ENDED: ${attemptEnded}`);
  }

  #stop(by: 'cell' | 'attempt'): void {
    this.#stoppedBy ??= by;
    this.#abort.abort();
  }

  async #relay(admitted: Admitted): Promise<void> {
    this.#record.allowedBy(admitted.rule);
    // Before the first byte leaves: what cannot be recorded must not be done.
    await this.#ports.keepDecided(this.#record);
    const body = new RequestBody(this.#request, this.#ports.fence, this.#record);
    try {
      if (admitted.websocket) await this.#relayWebSocket(admitted, body);
      else await this.#relayAnswer(admitted, body);
      this.#request.end();
      await this.#sending;
      this.#answer = 'whole';
    } finally {
      body.giveUp();
    }
  }

  async #relayAnswer(admitted: Admitted, requestBody: RequestBody): Promise<void> {
    const { budgets, trail } = this.#ports;
    const { target, method, hops, retries } = admitted;
    const body = await requestBody.begin();
    const response = await this.#dial(admitted, (dial) =>
      this.#ports.scope().request({ ...dial, method, body, retries }),
    );
    this.#record.answered(response);
    trail.note(target, hops, response.status, response.headers.location);
    if (declaredBytes(method, response) > budgets.responseBytesLeft) throw tooLarge();
    this.#begin(answerHeadOf(response));
    await this.#sendDown(response.body);
  }

  async #relayWebSocket(admitted: Admitted, requestBody: RequestBody): Promise<void> {
    const { scope, timeouts } = this.#ports;
    const { address, headers, socket, status } = await this.#dial(admitted, (dial) => scope().upgrade(dial));
    const destroy = (): void => void socket.destroy();
    this.#abort.signal.addEventListener('abort', destroy);
    try {
      this.#record.answered({ status, address, protocol: 'websocket' });
      // 200 stands for the 101, which is no answer that a stream of the channel can have.
      this.#begin(answerHeadOf({ status: 200, headers }));
      await relaySocket(socket, requestBody.all(), (down) => this.#sendDown(down), timeouts.idle);
    } finally {
      this.#abort.signal.removeEventListener('abort', destroy);
      socket.destroy();
    }
  }

  async #dial<T>(
    { target, headers, allowances }: Admitted,
    dial: (request: Omit<DialRequest, 'body' | 'retries' | 'method'>) => Promise<T>,
  ): Promise<T> {
    const { fence, timeouts } = this.#ports;
    const leftMs = fence.requireLeftMs();
    this.#abort.signal.throwIfAborted();
    const dialled = dial({
      target,
      headers,
      allowances,
      fence: fence.check,
      signal: this.#abort.signal,
      progress: this.#progress,
      timeouts: { ...timeouts, total: Math.min(timeouts.total, Math.ceil(leftMs)) },
    });
    // However long a dialer takes to give up, the attempt's end waits for no other side.
    return untilAborted(dialled, this.#abort.signal);
  }

  #begin(head: { status: number; headers: { [name: string]: string } }): void {
    this.#ports.fence.check();
    this.#request.respond(head);
    this.#answer = 'begun';
  }

  /** The next chunk is asked for while one is on its way: so the end of a short answer leaves in one write with it. */
  async #sendDown(body: DialResponse['body']): Promise<void> {
    const { options, fence } = this.#ports;
    const counted = this.#counted(body);
    try {
      for await (const chunk of options.screen?.(counted) ?? counted) {
        await this.#sending;
        fence.check();
        this.#sending = this.#send(chunk);
        // Heard of where it is waited for.
        this.#sending.catch(() => {});
      }
    } catch (error) {
      // What the cell has been given is told of it before the end is.
      await this.#sending.catch(() => {});
      throw error;
    }
  }

  async #send(chunk: Uint8Array): Promise<void> {
    await this.#request.write(chunk);
    this.#record.sentDown(chunk.byteLength);
  }

  /** Counted as they come from the origin: what is held back on the way is held in memory all the same. */
  async *#counted(body: DialResponse['body']): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      if (this.#ports.budgets.takeResponseBytes(chunk.byteLength) === 'none-left') throw tooLarge();
      yield chunk;
    }
  }

  async #breakOff(error: unknown): Promise<void> {
    const { fence, keepEnded } = this.#ports;
    this.#abort.abort();
    const stoppedBy = fence.isOpen ? this.#stoppedBy : 'attempt';
    if (stoppedBy === undefined) return this.#refuse(refusalOf(error));
    const late = stoppedBy === 'attempt';
    this.#record.end({ outcome: 'aborted', reason: late ? 'ATTEMPT_ENDED' : null });
    this.#request.reset(late ? `ATTEMPT_ENDED: ${attemptEnded}` : 'given up');
    await keepEnded(this.#record);
  }

  async #refuse(refusal: Refusal): Promise<void> {
    const { kind, reason, rule } = refusal;
    this.#record.end({ outcome: kind, reason, ...(rule === undefined ? {} : { rule }) });
    await this.#ports.keepEnded(this.#record);
    if (this.#answer !== 'none') this.#request.reset(`${reason}: ${refusal.message}`);
    else if (kind !== 'failed' && !this.#ports.mayAnswerRefusal()) this.#request.reset(reason);
    // The cell may have given it up meanwhile; the answer is then nobody's loss.
    else await answerRefusal(this.#request, refusal).catch(() => this.#request.reset(reason));
  }
}

const tooLarge = (): GloveboxError =>
  new GloveboxError('EGRESS_BUDGET', {
    message: 'The answers of the attempt are larger than maxResponseBytes of its manifest.',
    details: { reason: 'RESPONSE_TOO_LARGE' },
  });
