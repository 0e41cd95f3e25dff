import type { CellRequest } from './api.ts';
import type { AttemptFence } from './fence.ts';
import type { RequestRecord } from './recording.ts';

/** The body of a cell's request on its way out: each chunk passes the fence as it is pulled, and is counted. */
export class RequestBody {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #fence: AttemptFence;
  readonly #record: RequestRecord;

  constructor(request: Pick<CellRequest, 'body'>, fence: AttemptFence, record: RequestRecord) {
    this.#source = request.body[Symbol.asyncIterator]();
    this.#fence = fence;
    this.#record = record;
  }

  /**
   * Wait for its first chunk: whether there is a body at all shows only then, for the cell need not say how long it is.
   *
   * @returns undefined for a request without one. @throws as reading does when the cell gives the request up.
   */
  async begin(): Promise<AsyncGenerator<Uint8Array> | undefined> {
    const first = await this.#source.next();
    return first.done ? undefined : this.#chunks(first);
  }

  async *all(): AsyncGenerator<Uint8Array> {
    yield* this.#chunks(await this.#source.next());
  }

  /** Nobody reads on: what still comes of it is dropped, and whoever waits for a chunk is told that there is none. */
  giveUp(): void {
    this.#source.return?.().catch(() => undefined);
  }

  async *#chunks(first: IteratorResult<Uint8Array>): AsyncGenerator<Uint8Array> {
    for (let next = first; !next.done; next = await this.#source.next()) {
      this.#fence.check();
      this.#record.sentUp(next.value.byteLength);
      yield next.value;
    }
  }
}
