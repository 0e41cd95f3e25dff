import type { CancelNotice } from '@glovebox/contract';
import { contextError } from './guest-error.ts';
import { apply, PlainTypeError, uncurryThis } from './primordials.ts';

type Listener = (reason: unknown) => void;

const ControllerClass = AbortController;
const abort = uncurryThis(AbortController.prototype.abort);
const getter = <T>(name: string): ((signal: unknown) => T) =>
  uncurryThis(Object.getOwnPropertyDescriptor(AbortSignal.prototype, name)?.get as (this: unknown) => T);
const isAborted = getter<boolean>('aborted');
const reasonOf = getter<unknown>('reason');
const { addEventListener, removeEventListener } = EventTarget.prototype;

/** Linked both ways, so that each can leave at any time: sleeps that overlap for ever would pile up otherwise. */
interface Entry {
  readonly listener: Listener;
  next: Entry | undefined;
  previous: Entry | undefined;
  linked: boolean;
}

/** `ctx.signal`, and what in the harness itself waits for it. */
export class Cancellation {
  readonly #controller = new ControllerClass();
  readonly signal: AbortSignal = this.#controller.signal;
  #first: Entry | undefined;
  #reason: Error | undefined;

  /** What a handler that has stopped because of it rejects with. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  cancel(notice: CancelNotice): void {
    if (this.#reason) return;
    const reason = contextError('CANCELLED', notice.reason);
    this.#reason = reason;
    for (let entry = this.#first; entry; entry = this.#first) {
      this.#unlink(entry);
      entry.listener(reason);
    }
    abort(this.#controller, reason);
  }

  /** Call `listener` when it happens, unless it has. @returns a function that takes it back. */
  onCancel(listener: Listener): () => void {
    const entry: Entry = { listener, next: this.#first, previous: undefined, linked: true };
    if (this.#first) this.#first.previous = entry;
    this.#first = entry;
    return () => this.#unlink(entry);
  }

  #unlink(entry: Entry): void {
    if (!entry.linked) return;
    entry.linked = false;
    if (entry.previous) entry.previous.next = entry.next;
    else this.#first = entry.next;
    if (entry.next) entry.next.previous = entry.previous;
    // Who has left may be held for long by its timer, and must not hold the others.
    entry.next = undefined;
    entry.previous = undefined;
  }
}

/** The same for a signal of the node's. */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  const fired = (): void => listener(reasonOf(signal));
  apply(addEventListener, signal, ['abort', fired]);
  return () => apply(removeEventListener, signal, ['abort', fired]);
}

/** @returns why the signal has fired, in a box; undefined when it has not. @throws TypeError when it is no AbortSignal. */
export function abortedBy(signal: unknown): { reason: unknown } | undefined {
  try {
    return isAborted(signal) ? { reason: reasonOf(signal) } : undefined;
  } catch {
    throw new PlainTypeError('ctx.clock.sleep: signal must be an AbortSignal');
  }
}
