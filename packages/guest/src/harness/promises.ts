import { defineProperty, isPromise, nextTick, PlainPromise, promiseThen } from './primordials.ts';

/**
 * Make `await promise` independent of what has become of `Promise.prototype`: await looks up `constructor`, and where
 * that is not the intrinsic one it calls a `then` that anybody may have replaced.
 */
export function sealed<T>(promise: Promise<T>): Promise<T> {
  defineProperty(promise, 'constructor', { __proto__: null, value: PlainPromise } as PropertyDescriptor);
  return promise;
}

/** Call `ok` or `bad` once `value` is settled: a promise, a thenable of the author's, or a plain value. */
export function whenSettled(value: unknown, ok: (value: unknown) => void, bad: (reason: unknown) => void): void {
  try {
    // A promise whose own constructor was replaced can make even the true `then` throw.
    promiseThen(isPromise(value) ? value : new PlainPromise((resolve) => resolve(value)), ok, bad);
  } catch (error) {
    bad(error);
  }
}

/** `value`, settled, as a promise that is safe to await. Rejections are always handled. */
export function settled(value: unknown): Promise<unknown> {
  return sealed(new PlainPromise((resolve, reject) => whenSettled(value, resolve, reject)));
}

/** When all that was made ready so far, and all that follows from it without the event loop, is done. */
export function afterTicks(): Promise<void> {
  return sealed(new PlainPromise<void>((resolve) => nextTick(resolve)));
}
