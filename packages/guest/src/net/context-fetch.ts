import { checkFetch } from '@glovebox/sdk/context-rules';
import { PlainPromise } from '../harness/primordials.ts';
import { whenSettled } from '../harness/promises.ts';
import { egressErrorIn } from './egress-error.ts';
import { requestHeaders } from './names.ts';

export type Fetch = (input: unknown, init?: unknown) => Promise<unknown>;

/**
 * `ctx.fetch`: the fetch that was there before the node, with two wishes for the host more. Rejects with the error of ours itself,
 * where plain fetch has it as the cause of a TypeError.
 *
 * Not an async function: one that returns a promise calls its `then`, whoever wrote that.
 */
export function contextFetch(fetch: Fetch): Fetch {
  return (input, init) =>
    new PlainPromise((resolve, reject) => {
      const { retry, credential } = checkFetch(init);
      const wishes = { __proto__: null } as unknown as { [name: string]: string };
      if (retry !== undefined) wishes[requestHeaders.retry] = `${retry}`;
      if (credential !== undefined) wishes[requestHeaders.credential] = credential;
      const asked = retry === undefined && credential === undefined ? init : withHeaders(input, init, wishes);
      whenSettled(fetch(input, asked), resolve, (thrown) => reject(egressErrorIn(thrown) ?? thrown));
    });
}

/** A copy: what the node gave stays as it is. */
function withHeaders(input: unknown, init: unknown, wishes: { readonly [name: string]: string }): unknown {
  const given = (init as RequestInit | undefined)?.headers ?? (input as Partial<Request> | null)?.headers;
  const headers = new Headers(typeof input === 'string' && given === undefined ? undefined : given);
  for (const name in wishes) headers.set(name, wishes[name] as string);
  return { ...(init as object | undefined), headers };
}
