import type { ChannelClient, ClientStream, RequestHead, ResponseHead } from '@glovebox/channel';
import { readAnswer, textOfBody } from '../harness/control.ts';
import { asyncIterator, runSoon } from '../harness/primordials.ts';
import { whenSettled } from '../harness/promises.ts';
import { property } from '../harness/property.ts';
import { brokenOff, problemError, refusedHere, subjectOf } from './egress-error.ts';
import { answerHeader, isEgressCode } from './names.ts';
import { Turns } from './turns.ts';

/** The channel, and who makes it read. */
export interface Wire {
  readonly client: ChannelClient;
  hold(): void;
  release(): void;
}

/** Whoever made a request, and waits for what comes of it. */
export interface AnswerTaker {
  answered(head: ResponseHead): void;
  /** @returns undefined, or when the next chunk may come: a promise that is safe to await. */
  chunk(bytes: Uint8Array): Promise<void> | undefined;
  ended(): void;
  /** Instead of all that has not been told yet. */
  failed(error: Error): void;
}

type State = { kind: 'waiting' } | { kind: 'open'; stream: ClientStream } | { kind: 'over' };

/** Requests of the node over the channel. */
export class Exchanges {
  readonly #wire: Wire;
  readonly #turns: Turns;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#turns = new Turns(wire.client);
  }

  /** Put a request to the host when its turn comes. The process stays alive until it is over. */
  begin(head: RequestHead, taker: AnswerTaker): Exchange {
    return new Exchange(this.#wire, this.#turns, head, taker);
  }
}

/** One request: body up, answer down, each as fast as the other side takes it. It is over when the answer is, or by `cancel`. */
export class Exchange {
  readonly #wire: Wire;
  readonly #turns: Turns;
  readonly #head: RequestHead;
  readonly #taker: AnswerTaker;
  #state: State = { kind: 'waiting' };
  /** What was given before its turn: one chunk at most, as the next comes when it is taken. */
  #early: { readonly chunk: Uint8Array; readonly taken: () => void } | undefined;
  #requestEnded = false;

  constructor(wire: Wire, turns: Turns, head: RequestHead, taker: AnswerTaker) {
    this.#wire = wire;
    this.#turns = turns;
    this.#head = head;
    this.#taker = taker;
    wire.hold();
    turns.take(() => this.#start());
  }

  /** @param taken called when the next chunk may come; also when nobody wants this one any more. */
  write(chunk: Uint8Array, taken: () => void): void {
    if (this.#state.kind === 'waiting') this.#early = { chunk, taken };
    else if (this.#state.kind === 'open') whenSettled(this.#state.stream.write(chunk), taken, taken);
    else runSoon(taken);
  }

  end(): void {
    this.#requestEnded = true;
    if (this.#state.kind === 'open') this.#state.stream.end();
  }

  /** Give it up. Nothing is told to the taker any more. */
  cancel(reason: string): void {
    const state = this.#state;
    if (state.kind === 'open') state.stream.reset(reason);
    if (state.kind !== 'over') this.#finish(state.kind);
  }

  #start(): void {
    // Given up while it waited.
    if (this.#state.kind === 'over') {
      this.#turns.leave();
      return;
    }
    let stream: ClientStream;
    try {
      stream = this.#wire.client.open(this.#head);
    } catch (error) {
      this.#finish('open');
      const why = `${subjectOf(this.#head)} cannot be put to the host: ${(error as Error).message}`;
      this.#taker.failed(refusedHere('HEADER_REFUSED', why));
      return;
    }
    this.#state = { kind: 'open', stream };
    const early = this.#early;
    this.#early = undefined;
    if (early) whenSettled(stream.write(early.chunk), early.taken, early.taken);
    if (this.#requestEnded) stream.end();
    whenSettled(
      this.#receive(stream),
      () => undefined,
      (error) => this.#fail(error),
    );
  }

  async #receive(stream: ClientStream): Promise<void> {
    const head = await stream.response;
    if (this.#isOver()) return;
    const kind = head.headers[answerHeader];
    if (kind !== undefined) {
      const { body } = await readAnswer(stream);
      this.#fail(problemError(kind, textOfBody(body), subjectOf(this.#head)));
      return;
    }
    this.#taker.answered(head);
    const reader = stream.body[asyncIterator]();
    for (let next = await reader.next(); !next.done; next = await reader.next()) {
      if (this.#isOver()) return;
      const room = this.#taker.chunk(next.value);
      if (room) await room;
    }
    if (this.#isOver()) return;
    // Nobody reads what is left of the request: the host need not either.
    if (!this.#requestEnded) stream.reset('answered before the request had ended');
    this.#finish('open');
    this.#taker.ended();
  }

  /** A call, as it changes while one awaits. */
  #isOver(): boolean {
    return this.#state.kind === 'over';
  }

  #fail(error: unknown): void {
    if (this.#isOver()) return;
    if (this.#state.kind === 'open') this.#state.stream.reset('the request failed');
    this.#finish('open');
    this.#taker.failed(
      isEgressCode(property(error, 'code')) ? (error as Error) : brokenOff(error, subjectOf(this.#head)),
    );
  }

  #finish(was: 'waiting' | 'open'): void {
    const early = this.#early;
    this.#early = undefined;
    this.#state = { kind: 'over' };
    this.#wire.release();
    if (was === 'open') this.#turns.leave();
    early?.taken();
  }
}
