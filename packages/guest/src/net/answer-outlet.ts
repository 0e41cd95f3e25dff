import { nextTick, PlainPromise } from '../harness/primordials.ts';
import { sealed } from '../harness/promises.ts';

const lineEnd = Buffer.from('\r\n');

/**
 * What is to be written to the node, gathered: all that arrived in one turn of the event loop is one push. Holds no more than
 * what was added since the node stopped reading, which is one chunk.
 */
export class AnswerOutlet {
  /** @returns whether more may come before `resume`. */
  readonly #push: (bytes: Buffer | null) => boolean;
  #parts: Buffer[] = [];
  #scheduled = false;
  #full = false;
  #finished: 'no' | 'soon' | 'yes' = 'no';
  #whenRoom: (() => void) | undefined;

  constructor(push: (bytes: Buffer | null) => boolean) {
    this.#push = push;
  }

  add(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#schedule();
  }

  /** @returns when the next chunk may come; undefined: at once. */
  addChunk(bytes: Uint8Array, how: 'plain' | 'framed'): Promise<void> | undefined {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (how === 'plain') this.add(chunk);
    else this.add(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`, 'latin1'), chunk, lineEnd]));
    if (!this.#full) return undefined;
    return sealed(
      new PlainPromise<void>((resolve) => {
        this.#whenRoom = resolve;
      }),
    );
  }

  /** Nothing follows. */
  finish(): void {
    if (this.#finished === 'no') this.#finished = 'soon';
    this.#schedule();
  }

  resume(): void {
    this.#full = false;
    if (this.#parts.length > 0) this.#schedule();
    const resolve = this.#whenRoom;
    this.#whenRoom = undefined;
    resolve?.();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    nextTick(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#parts.length > 0 && this.#finished !== 'yes') {
      const parts = this.#parts;
      this.#parts = [];
      if (!this.#push(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts))) this.#full = true;
    }
    if (this.#finished === 'soon') {
      this.#finished = 'yes';
      this.#push(null);
    }
  }
}
