import type { Dialer, DialScope } from './api.ts';
import { dialFailure } from './dial-failure.ts';

/**
 * A dialer that is opened when something is to be sent for the first time: most attempts send nothing, and what connects takes
 * longer to load than all the rest of a short run.
 *
 * A scope that was destroyed before that is never opened, and one that is destroyed while it opens sends nothing.
 *
 * @param open where it fails, the request fails with its error, and the next one tries again.
 */
export function lateDialer(open: () => Promise<Pick<Dialer, 'scope'>>): Pick<Dialer, 'scope'> {
  return { scope: (purpose, policy) => new LateScope(async () => (await open()).scope(purpose, policy)) };
}

class LateScope implements DialScope {
  readonly #open: () => Promise<DialScope>;
  #opening: Promise<DialScope> | undefined;
  #scope: DialScope | undefined;
  #destroyed = false;

  constructor(open: () => Promise<DialScope>) {
    this.#open = open;
  }

  async request(request: Parameters<DialScope['request']>[0]): ReturnType<DialScope['request']> {
    return (await this.#opened()).request(request);
  }

  async upgrade(request: Parameters<DialScope['upgrade']>[0]): ReturnType<DialScope['upgrade']> {
    return (await this.#opened()).upgrade(request);
  }

  destroy(): void {
    this.#destroyed = true;
    this.#scope?.destroy();
  }

  async #opened(): Promise<DialScope> {
    this.#refuseAfterEnd();
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    this.#scope = await this.#opening;
    // The attempt may have ended while it was opened: what was opened then is destroyed by nobody else.
    if (this.#destroyed) this.#scope.destroy();
    this.#refuseAfterEnd();
    return this.#scope;
  }

  #refuseAfterEnd(): void {
    if (this.#destroyed) throw dialFailure('ATTEMPT_ENDED', 'The attempt has ended.');
  }
}
