import { egressRequestHeaders, GatheredBytes } from '@glovebox/contract';
import { BodyDigester, canonicalUrl, cassetteLimits, keptBody } from '@glovebox/sdk/cassette';
import type { CellRequest, Egress } from '../api.ts';
import { isOurs, keptAnswerHeaders, keptRequestHeaders } from './kept-headers.ts';
import { isShort, keptRequestBody, type Recording, type Slot } from './recording.ts';

/**
 * An egress that does what the other one does, and records what origins answered.
 *
 * It stands on the cell's side of the broker: it sees a request before a credential is put into it, and an answer after what
 * must not reach the cell was taken out. Denials and failures are the broker's own answers and are not recorded: they come
 * about again by themselves.
 */
export function recordEgress(egress: Egress, recording: Recording): Egress {
  return {
    open: (options) => {
      const session = egress.open(options);
      let ended = false;
      return {
        accept: (request) => {
          const slot = recording.open();
          return session.accept(
            slot === undefined ? request : new RecordedRequest(request, recording, slot, () => ended),
          );
        },
        end: () => {
          ended = true;
          session.end();
        },
        settled: () => session.settled(),
        get summary() {
          return session.summary;
        },
      };
    },
  };
}

/** A request as the broker gets it, which notes what passes. */
class RecordedRequest implements CellRequest {
  readonly head: CellRequest['head'];
  readonly signal: AbortSignal;
  readonly body: AsyncIterable<Uint8Array>;
  readonly #request: CellRequest;
  readonly #recording: Recording;
  readonly #slot: Slot;
  readonly #hasEnded: () => boolean;
  readonly #digester: BodyDigester;
  readonly #asked = new GatheredBytes();
  #askedBytes = 0;
  #answer: { status: number; headers: Readonly<Record<string, string>>; body: GatheredBytes } | undefined;

  constructor(request: CellRequest, recording: Recording, slot: Slot, hasEnded: () => boolean) {
    this.head = request.head;
    this.signal = request.signal;
    this.#request = request;
    this.#recording = recording;
    this.#slot = slot;
    this.#hasEnded = hasEnded;
    this.#digester = new BodyDigester(request.head.headers['content-type']);
    this.body = this.#tee(request.body);
  }

  /** Iterator by iterator: what the broker gives up without having read of it is given up here too. */
  #tee(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return {
      [Symbol.asyncIterator]: () => {
        const source = body[Symbol.asyncIterator]();
        return {
          next: async () => {
            const step = await source.next();
            if (step.done !== true) this.#noteAsked(step.value);
            return step;
          },
          return: async () => (await source.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  #noteAsked(chunk: Uint8Array): void {
    this.#digester.update(chunk);
    this.#askedBytes += chunk.byteLength;
    if (!isShort(this.#askedBytes)) this.#recording.drop(this.#asked);
    else if (this.#recording.hold(chunk.byteLength)) this.#asked.add(chunk);
  }

  respond(head: { status: number; headers: { [name: string]: string } }): void {
    if (!isOurs(head.headers)) {
      if (this.head.headers[egressRequestHeaders.upgrade] !== undefined) this.#recording.fail('websocket');
      this.#answer = { ...head, body: new GatheredBytes() };
    }
    this.#request.respond(head);
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#answer !== undefined && this.#recording.hold(chunk.byteLength)) this.#answer.body.add(chunk);
    await this.#request.write(chunk);
  }

  end(): void {
    this.#fill();
    this.#request.end();
  }

  reset(reason: string): void {
    // A node that wants no more of an answer has had enough of it; one that an origin broke off is no answer.
    if (this.signal.aborted || this.#hasEnded()) this.#fill();
    else this.#leaveOut();
    this.#request.reset(reason);
  }

  #leaveOut(): void {
    this.#recording.drop(this.#asked);
    if (this.#answer !== undefined) this.#recording.drop(this.#answer.body);
    this.#answer = undefined;
  }

  #fill(): void {
    const answer = this.#answer;
    const url = canonicalUrl(this.head.url);
    if (answer === undefined || url === undefined || this.#recording.failed) {
      this.#leaveOut();
      return;
    }
    this.#answer = undefined;
    if (url.length > cassetteLimits.url) {
      this.#recording.fail('url-too-long');
      return;
    }
    const [asked, told] = [keptRequestHeaders(this.head.headers), keptAnswerHeaders(answer.headers)];
    const sent = keptRequestBody(this.#asked.bytes(), this.#digester.end());
    const body = keptBody(answer.body.bytes());
    this.#slot.entry = {
      request: {
        method: this.head.method,
        url,
        ...(asked === undefined ? {} : { headers: asked }),
        ...(sent === undefined ? {} : { body: sent }),
      },
      response: {
        status: answer.status,
        ...(told === undefined ? {} : { headers: told }),
        ...(body === undefined ? {} : { body }),
      },
    };
  }
}
