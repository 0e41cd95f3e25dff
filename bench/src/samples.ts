/** Samples of one thing, ordered from the best to the worst. A failure counts as the worst of all, so it shows in the percentiles. */
export class Samples {
  readonly #values: number[] = [];
  readonly #best: 'lowest' | 'highest';
  failures = 0;
  lastFailure: string | undefined;

  constructor(best: 'lowest' | 'highest') {
    this.#best = best;
  }

  async take(measure: () => Promise<number>): Promise<void> {
    try {
      this.#values.push(await measure());
    } catch (error) {
      this.failures++;
      this.lastFailure = error instanceof Error ? error.message.slice(0, 300) : String(error);
      this.#values.push(this.#best === 'lowest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
    }
  }

  get n(): number {
    return this.#values.length;
  }

  /** What that part of the samples, such as 0.95, does as well as or better. Null when there are none, or when it is a failure. */
  percentile(q: number): number | null {
    const sorted = this.#values.toSorted((a, b) => (this.#best === 'lowest' ? a - b : b - a));
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
    return value === undefined || !Number.isFinite(value) ? null : Math.round(value * 1000) / 1000;
  }

  get note(): { note?: string } {
    const p95 = this.percentile(0.95);
    const parts = [
      ...(p95 === null ? [] : [`p95 ${p95.toFixed(1)}`]),
      ...(this.failures === 0 ? [] : [`${this.failures} failed: ${this.lastFailure}`]),
    ];
    return parts.length === 0 ? {} : { note: parts.join('; ') };
  }
}
