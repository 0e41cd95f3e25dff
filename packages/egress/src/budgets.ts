import type { HttpGrant } from './api.ts';

/** What the requests of one attempt have used of its grant. Nothing that is taken comes back. */
export class Budgets {
  readonly #grant: Pick<HttpGrant, 'maxRequests' | 'maxResponseBytes'>;
  #requests = 0;
  #responseBytes = 0;

  constructor(grant: Pick<HttpGrant, 'maxRequests' | 'maxResponseBytes'>) {
    this.#grant = grant;
  }

  /** One request, or one more try of it, whatever comes of it. */
  takeRequest(): 'taken' | 'none-left' {
    if (this.#requests >= this.#grant.maxRequests) return 'none-left';
    this.#requests++;
    return 'taken';
  }

  /** Bytes of any answer, decoded; over the bound they count as well, so that no later answer fits into what this one overran. */
  takeResponseBytes(bytes: number): 'taken' | 'none-left' {
    this.#responseBytes += bytes;
    return this.#responseBytes > this.#grant.maxResponseBytes ? 'none-left' : 'taken';
  }

  get responseBytesLeft(): number {
    return Math.max(0, this.#grant.maxResponseBytes - this.#responseBytes);
  }
}
