import type { HttpGrant } from './api.ts';

/** What the requests of one attempt have used of its grant. Nothing that is taken before an answer is known comes back unasked. */
export class Budgets {
  readonly #grant: Pick<HttpGrant, 'maxRequests' | 'maxResponseBytes'>;
  #requests = 0;
  #responseBytes = 0;

  constructor(grant: Pick<HttpGrant, 'maxRequests' | 'maxResponseBytes'>) {
    this.#grant = grant;
  }

  /** One request, whatever comes of it. */
  takeRequest(): 'taken' | 'none-left' {
    if (this.#requests >= this.#grant.maxRequests) return 'none-left';
    this.#requests++;
    return 'taken';
  }

  /** Each try beyond the first is a request too. @returns how many of those asked for there may be. */
  reserveRetries(asked: number): number {
    const reserved = Math.min(asked, this.#grant.maxRequests - this.#requests);
    this.#requests += reserved;
    return reserved;
  }

  returnRetries(unused: number): void {
    this.#requests -= unused;
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
