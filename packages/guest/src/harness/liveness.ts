/**
 * Lets the event loop end while the node runs and nothing is under way for it. A loop that drains then means that the
 * handler can never settle, which is found at once instead of at the deadline.
 */
export class Liveness {
  readonly #socket: { ref(): unknown; unref(): unknown };
  #holds = 1;

  constructor(socket: { ref(): unknown; unref(): unknown }) {
    this.#socket = socket;
  }

  /** Something waits for the host. */
  hold(): void {
    if (this.#holds++ === 0) this.#socket.ref();
  }

  release(): void {
    if (--this.#holds === 0) this.#socket.unref();
  }
}
