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

interface Entry {
  readonly listener: Listener;
  next: Entry | undefined;
  gone: boolean;
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
    for (let entry = this.#first; entry; entry = entry.next) if (!entry.gone) entry.listener(reason);
    this.#first = undefined;
    abort(this.#controller, reason);
  }

  /** Call `listener` when it happens, unless it has. @returns a function that takes it back. */
  onCancel(listener: Listener): () => void {
    const entry: Entry = { listener, next: this.#first, gone: false };
    this.#first = entry;
    return () => {
      entry.gone = true;
      while (this.#first?.gone) this.#first = this.#first.next;
    };
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
