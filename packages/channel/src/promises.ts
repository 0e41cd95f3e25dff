import { defineProperty } from './primordials.ts';

const PromiseConstructor = Promise;
const then = Function.prototype.call.bind(Promise.prototype.then) as (
  promise: Promise<unknown>,
  fulfilled: undefined,
  rejected: () => void,
) => void;
const ignore = (): void => {};

/**
 * Make `await promise` independent of what has become of `Promise.prototype`: await looks up `constructor` first, and
 * where it is not the intrinsic one falls back to a `then` that anybody may have replaced.
 */
function sealed<T>(promise: Promise<T>): Promise<T> {
  defineProperty(promise, 'constructor', { __proto__: null, value: PromiseConstructor } as PropertyDescriptor);
  return promise;
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A promise to be settled from outside. Its rejection never counts as unhandled: whether anybody listens for the end of a
 * stream is not up to the side that ends it, and must not bring a process down.
 */
export function defer<T>(): Deferred<T> {
  let resolve: (value: T) => void = ignore;
  let reject: (error: unknown) => void = ignore;
  const promise = sealed(
    new PromiseConstructor<T>((fulfil, fail) => {
      resolve = fulfil as (value: T) => void;
      reject = fail;
    }),
  );
  then(promise, undefined, ignore);
  return { promise, resolve, reject };
}

export function rejected<T>(error: unknown): Promise<T> {
  const deferred = defer<T>();
  deferred.reject(error);
  return deferred.promise;
}

/** Shared: it has no state that anybody could change. */
export const resolved: Promise<void> = sealed(new PromiseConstructor<void>((fulfil) => fulfil()));
