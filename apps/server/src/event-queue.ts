/** What a reader may be behind, in characters, before what can be told later is left out. */
const maxQueuedLength = 8 * 1024 * 1024;
/** Events are handed over together, up to about so much. */
const chunkLength = 64 * 1024;

/** Records have these; a stream may leave them out where its reader is slow. */
const skippable: ReadonlySet<string> = new Set(['log', 'progress']);

/**
 * Events on their way to one reader, as `text/event-stream`. It is read once.
 *
 * What tells them cannot always wait for a slow reader (a cell's log comes when it comes), so a bounded amount is kept and
 * the rest is counted in a `skipped` event; whoever can wait uses `write`.
 */
export class EventQueue implements AsyncIterable<Uint8Array> {
  #queue: string[] = [];
  #length = 0;
  #skipped = 0;
  #ended = false;
  #wakeReader: (() => void) | undefined;
  #wakeWriters: (() => void)[] = [];
  readonly #onLeft: () => void;

  /** @param onLeft called when the reader goes before the end. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  push(event: { event: string; [key: string]: unknown }): void {
    if (this.#ended) return;
    if (this.#length >= maxQueuedLength && skippable.has(event.event)) {
      this.#skipped++;
      return;
    }
    if (this.#skipped > 0) {
      const events = this.#skipped;
      this.#skipped = 0;
      this.#add({ event: 'skipped', events });
    }
    this.#add(event);
  }

  /** The same, and wait until the reader has caught up: nothing is left out. */
  async write(event: { event: string; [key: string]: unknown }): Promise<void> {
    this.push(event);
    while (!this.#ended && this.#length >= maxQueuedLength / 2) {
      await new Promise<void>((resolve) => this.#wakeWriters.push(resolve));
    }
  }

  /** After a last event nothing more is taken. */
  end(last?: { event: string; [key: string]: unknown }): void {
    if (last !== undefined) this.push(last);
    this.#ended = true;
    this.#wake();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        while (this.#queue.length === 0) {
          if (this.#ended) return { done: true, value: undefined };
          await new Promise<void>((resolve) => {
            this.#wakeReader = resolve;
          });
        }
        return { done: false, value: Buffer.from(this.#take()) };
      },
      return: async () => {
        const left = !this.#ended;
        this.#queue = [];
        this.#length = 0;
        this.end();
        if (left) this.#onLeft();
        return { done: true, value: undefined };
      },
    };
  }

  #add(event: { event: string; [key: string]: unknown }): void {
    const { event: name } = event;
    // One line: JSON text holds no line break.
    const text = `event: ${name}\ndata: ${JSON.stringify(name === 'result' ? event.result : name === 'problem' ? event.problem : event)}\n\n`;
    this.#queue.push(text);
    this.#length += text.length;
    this.#wakeReader?.();
  }

  #take(): string {
    let count = 0;
    let length = 0;
    while (count < this.#queue.length && (length === 0 || length < chunkLength)) {
      length += this.#queue[count]?.length ?? 0;
      count++;
    }
    const text = this.#queue.splice(0, count).join('');
    this.#length -= length;
    if (this.#length < maxQueuedLength / 2) this.#wake();
    return text;
  }

  #wake(): void {
    this.#wakeReader?.();
    const writers = this.#wakeWriters;
    this.#wakeWriters = [];
    for (const wake of writers) wake();
  }
}
