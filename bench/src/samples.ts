/** Samples of one thing, ordered from the best to the worst. A failure counts as the worst of all, so it shows in the percentiles. */
export class Samples {
  readonly #values: number[] = [];
  readonly #best: 'lowest' | 'highest';
  failures = 0;
  lastFailure: string | undefined;

  constructor(best: 'lowest' | 'highest') {
    this.#best = best;
  }

  take(measure: () => Promise<number>): Promise<void> {
    return this.takeMany(1, async () => [await measure()]);
  }

  /** Samples that are had together. Where fewer than `count` come, those that are missing have failed. */
  async takeMany(count: number, measure: () => Promise<readonly number[]>): Promise<void> {
    let taken: readonly number[] = [];
    try {
      taken = await measure();
      if (taken.length < count) this.lastFailure = `${taken.length} of ${count} samples`;
    } catch (error) {
      this.lastFailure = error instanceof Error ? error.message.slice(0, 300) : String(error);
    }
    const worst = this.#best === 'lowest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    const missing = Math.max(0, count - taken.length);
    this.failures += missing;
    this.#values.push(...taken, ...Array<number>(missing).fill(worst));
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
