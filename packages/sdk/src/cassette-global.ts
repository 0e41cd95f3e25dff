import { AsyncLocalStorage } from 'node:async_hooks';
import type { NodeContext } from './api.ts';
import { NodeError } from './node-error.ts';

/** The fetch of the context in which code runs; kept by what it awaits and starts. */
const current = new AsyncLocalStorage<NodeContext['fetch']>();
let installed = false;

/**
 * Run something, and answer what it asks of the global `fetch` by another one, as in a cell, where both go the same way; and as
 * there it fails with a TypeError of which our error is the cause. Elsewhere, and in tests that go on at the same time, the global one stays what it is; who replaces it has the last word.
 */
export function withGlobalFetch<Result>(fetch: NodeContext['fetch'], run: () => Result): Result {
  if (!installed) {
    installed = true;
    const { fetch: original } = globalThis;
    globalThis.fetch = (input, init) => {
      const played = current.getStore();
      return played === undefined ? original(input, init) : failing(played(input as string, init));
    };
  }
  return current.run(fetch, run);
}

async function failing(answer: Promise<Response>): Promise<Response> {
  try {
    return await answer;
  } catch (error) {
    throw NodeError.is(error) ? new TypeError('fetch failed', { cause: error }) : error;
  }
}
