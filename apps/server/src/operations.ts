import { randomBytes } from 'node:crypto';

/** Something that a caller waits for, and may ask to wind up. */
export interface Operation {
  readonly id: string;
  /** Aborted, with a text as reason, when it is to wind up. */
  readonly signal: AbortSignal;
  /** Ask for it: the first reason counts. */
  windUp(reason: string): void;
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** The operations of one app that are under way. */
export class Operations {
  readonly #live = new Map<string, { project: string; windUp: (reason: string) => void }>();
  readonly #working = new Set<Promise<unknown>>();

  /** @param caller aborted when the caller is gone. */
  async run<Result>(
    project: string,
    caller: AbortSignal | undefined,
    work: (operation: Operation) => Promise<Result>,
  ): Promise<Result> {
    // Unguessable: to know it is to be told of the operation.
    const id = `op_${Array.from(randomBytes(22), (byte) => alphabet[byte & 31]).join('')}`;
    const abort = new AbortController();
    const windUp = (reason: string): void => abort.abort(reason);
    const leave = (): void => windUp('the caller is gone');
    this.#live.set(id, { project, windUp });
    caller?.addEventListener('abort', leave, { once: true });
    if (caller?.aborted) leave();
    const working = work({ id, signal: abort.signal, windUp });
    this.#working.add(working);
    try {
      return await working;
    } finally {
      this.#working.delete(working);
      this.#live.delete(id);
      caller?.removeEventListener('abort', leave);
    }
  }

  /** @returns false when there is none of that id in the project, or none any more. */
  windUp(project: string, id: string, reason: string): boolean {
    const live = this.#live.get(id);
    if (live === undefined || live.project !== project) return false;
    live.windUp(reason);
    return true;
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.allSettled(this.#working);
  }
}
